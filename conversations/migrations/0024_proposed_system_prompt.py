"""Instructions of an imported file, which are in no request until the owner accepts them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0023_provider_words")]

    operations = [
        migrations.AddField(
            "conversation",
            "proposed_system_prompt",
            models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
