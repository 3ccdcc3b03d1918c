"""The facts that a checkpoint's messages have, by which it is counted what of them the next request tells."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compression", "0009_error_code")]

    operations = [migrations.AddField("checkpoint", "facts", models.JSONField(editable=False, null=True))]
