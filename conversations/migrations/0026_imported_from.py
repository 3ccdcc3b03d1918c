"""The id that a conversation has in the export that it came from, so that a newer export brings only what is new."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("conversations", "0025_pages")]

    operations = [
        migrations.AddField(
            "conversation",
            "imported_from",
            models.CharField(blank=True, db_default="", default="", editable=False, max_length=220),
        ),
        migrations.AddIndex(
            "conversation",
            models.Index(
                fields=["owner", "imported_from"], name="conversation_imported", condition=Q(imported_from__gt="")
            ),
        ),
    ]
