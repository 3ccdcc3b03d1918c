"""Saved tokens can be negative: recalled passages count, and may take more than a summary saves."""

from django.db import migrations, models

from conversations.memory import index_schema
from conversations.runtime.database import is_sqlite


def drop_triggers(apps, schema_editor):
    """Drop the search index's triggers, which SQLite does not let stand while it makes a table anew.

    They are made again after the migrations.
    """
    if is_sqlite():
        index_schema.drop_triggers()


class Migration(migrations.Migration):
    dependencies = [("conversations", "0021_undone_at")]

    operations = [
        migrations.RunPython(drop_triggers, migrations.RunPython.noop),
        migrations.AlterField("message", "saved_tokens", models.IntegerField(blank=True, editable=False, null=True)),
        migrations.RunPython(migrations.RunPython.noop, drop_triggers),
    ]
