"""How each model's context window is known; the windows of models from the environment come from their names."""

from django.db import migrations, models
from django.db.migrations.state import StateApps

from conversations.llm.known_models import UNKNOWN_WINDOW, known_window


def name_sources(apps: StateApps, schema_editor: object) -> None:
    profiles = apps.get_model("conversations", "ModelProfile").objects
    for profile in profiles.filter(from_environment=True):
        known = known_window(profile.model_id)
        source = "name" if profile.window == known or profile.provider == "builtin" else "hand"
        if known is None and profile.window == UNKNOWN_WINDOW and profile.provider != "builtin":
            source = "default"
        profiles.filter(pk=profile.pk).update(window_source=source)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0017_ledger")]

    operations = [
        migrations.AddField("modelprofile", "window_evidence", models.JSONField(default=dict, editable=False)),
        migrations.AddField(
            "modelprofile", "window_known_at", models.DateTimeField(blank=True, editable=False, null=True)
        ),
        migrations.AddField(
            "modelprofile", "window_replaced", models.PositiveIntegerField(blank=True, editable=False, null=True)
        ),
        migrations.AddField(
            "modelprofile", "window_server", models.CharField(blank=True, editable=False, max_length=40)
        ),
        migrations.AddField(
            "modelprofile",
            "window_source",
            models.CharField(
                choices=[
                    ("hand", "set by hand"),
                    ("name", "known by the model's name"),
                    ("asked", "asked of its server"),
                    ("counted", "found by the tokens that its server counts"),
                    ("mark", "found by a mark at the head of requests, which the model no longer repeats"),
                    ("inherited", "as the chat model of its server"),
                    ("default", "not known: the smallest usual one"),
                ],
                default="hand",
                editable=False,
                max_length=16,
            ),
        ),
        migrations.RunPython(name_sources, migrations.RunPython.noop),
    ]
