"""A provider's own words about the fault by which a reply failed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0022_saved_tokens")]

    operations = [
        migrations.AddField(
            "message", "provider_words", models.TextField(blank=True, db_default="", default="", editable=False)
        ),
    ]
