"""What a model thought before a reply, how hard it is asked to think, and how long it may be silent."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models

EFFORTS = [("none", "None"), ("low", "Low"), ("medium", "Medium"), ("high", "High")]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0018_true_window")]

    operations = [
        migrations.AddField(
            "conversation",
            "effort",
            models.CharField(blank=True, choices=EFFORTS, db_default="", default="", max_length=8),
        ),
        migrations.AddField(
            "message", "thoughts", models.TextField(blank=True, db_default="", default="", editable=False)
        ),
        migrations.AddField(
            "message", "thought_ms", models.PositiveIntegerField(blank=True, editable=False, null=True)
        ),
        migrations.AddField(
            "message", "thought_tokens", models.PositiveIntegerField(blank=True, editable=False, null=True)
        ),
        migrations.AddField("message", "returned_thoughts", models.JSONField(blank=True, editable=False, null=True)),
        migrations.AddField(
            "modelprofile",
            "effort",
            models.CharField(
                blank=True,
                choices=EFFORTS,
                db_default="",
                default="",
                help_text="How hard it thinks before a reply, where a conversation does not say otherwise. Empty: as "
                "its provider has it. A server that refuses this is asked without it.",
                max_length=8,
            ),
        ),
        migrations.AddField(
            "modelprofile",
            "silence_seconds",
            models.PositiveIntegerField(
                blank=True,
                help_text="Seconds that it may send nothing before a reply is given up: 10 to 3,600. Empty: as the "
                "site has it, and at least 600 where it thinks.",
                null=True,
                validators=[MinValueValidator(10), MaxValueValidator(3_600)],
            ),
        ),
    ]
