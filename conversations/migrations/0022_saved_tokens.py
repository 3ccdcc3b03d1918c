"""Saved tokens can be negative: recalled passages count, and may take more than a summary saves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0021_undone_at")]

    operations = [
        migrations.AlterField("message", "saved_tokens", models.IntegerField(blank=True, editable=False, null=True)),
    ]
