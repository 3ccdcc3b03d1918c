"""Messages that wait until the reply before them is complete."""

import django.db.models.deletion
from django.db import migrations, models

import compression.ids


class Migration(migrations.Migration):
    dependencies = [("conversations", "0027_trash")]

    operations = [
        migrations.CreateModel(
            name="QueuedMessage",
            fields=[
                (
                    "id",
                    models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                ("client_id", models.CharField(blank=True, max_length=64)),
                ("content", models.TextField()),
                ("shown", models.TextField()),
                ("pastes", models.JSONField(default=list)),
                ("pasted", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="queued",
                        to="conversations.conversation",
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.AddConstraint(
            "queuedmessage",
            models.UniqueConstraint(
                fields=["conversation", "client_id"],
                condition=models.Q(client_id__gt=""),
                name="queued_once",
            ),
        ),
    ]
