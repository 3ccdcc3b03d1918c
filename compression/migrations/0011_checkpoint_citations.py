"""The messages that each statement of a checkpoint's summary comes from, and the statements that none supports."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compression", "0010_checkpoint_facts")]

    operations = [migrations.AddField("checkpoint", "citations", models.JSONField(editable=False, null=True))]
