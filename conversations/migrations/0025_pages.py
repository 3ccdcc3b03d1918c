"""The number of a document's pages, slides or sheets."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0024_proposed_system_prompt")]

    operations = [migrations.AddField("attachment", "pages", models.PositiveIntegerField(blank=True, null=True))]
