"""When the owner put a conversation into the trash, from which it is deleted after 30 days."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0026_imported_from")]

    operations = [
        migrations.AddField("conversation", "trashed_at", models.DateTimeField(blank=True, editable=False, null=True)),
    ]
