"""Why a compaction failed, as a code."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compression", "0008_request_before_and_after")]

    operations = [
        migrations.AddField(
            "compaction",
            "error_code",
            models.CharField(blank=True, db_default="", default="", editable=False, max_length=32),
        ),
    ]
