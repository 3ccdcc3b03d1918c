"""When the owner undid a compaction: nothing is compacted by itself until they choose how to go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0020_withdrawals")]

    operations = [
        migrations.AddField("conversation", "undone_at", models.DateTimeField(blank=True, editable=False, null=True)),
    ]
