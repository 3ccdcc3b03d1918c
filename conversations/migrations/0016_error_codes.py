"""Why a reply or a summary failed, as a code: those that are stored get theirs from the words of their errors."""

from itertools import batched

from django.db import migrations, models
from django.db.models import Case, Value, When

BATCH = 500
PHRASES = (
    ("no credit left", "no_credit"),
    ("too many requests", "rate_limited"),
    ("refused the API key", "key_refused"),
    ("has no API key", "no_key"),
    ("than the model's context window", "context_too_large"),
    ("fit the model's context window", "context_too_large"),
    ("does not know the model", "model_not_found"),
    ("nothing came from", "silence"),
    ("was not whole after", "silence"),
    ("broke off", "broken_reply"),
    ("broke the reply off", "broken_reply"),
    ("could not be read", "broken_reply"),
    ("sent a web page", "broken_reply"),
    ("sent an empty reply", "empty_reply"),
    ("used all its tokens", "empty_reply"),
    ("does not end its reply", "cut_off"),
    ("was cut off", "cut_off"),
    ("content filter", "refusal"),
    ("refused to summarise", "refusal"),
    ("refused this request", "request_refused"),
    ("reports a conflict", "request_refused"),
    ("is overloaded", "provider_fault"),
    ("has a fault", "provider_fault"),
    ("cannot be reached", "unreachable"),
    ("closed the connection", "unreachable"),
    ("summary is empty", "empty_reply"),
    ("lacks its headings", "no_headings"),
    ("nothing under them", "no_headings"),
    ("another language", "other_language"),
    ("nothing is saved", "too_long"),
    ("over its limit", "too_long"),
    ("another summary was better", "facts_lost"),
    ("tokens is too small", "window_too_small"),
    ("resting after", "resting_after_failures"),
    ("as often as is allowed", "attempts_used_up"),
    ("there is no such model", "no_model"),
    ("No model is set", "no_model"),
    ("has no model", "no_model"),
    ("could not be loaded", "no_model"),
    ("worker stopped", "worker_stopped"),
    ("was stopped before", "worker_stopped"),
    ("server stopped", "worker_stopped"),
    ("Something went wrong", "fault_of_this_site"),
    ("was deleted", "deleted_meanwhile"),
)
"""What an error said, and its code: the first that fits."""


def code_of(error):
    lowered = error.lower()
    return next((code for words, code in PHRASES if words.lower() in lowered), "")


def fill_codes(apps, schema_editor):
    fits = Case(*(When(error__icontains=words, then=Value(code)) for words, code in PHRASES), default=Value(""))
    compactions = apps.get_model("compression", "Compaction").objects
    for rows in (apps.get_model("conversations", "Message").objects, compactions):
        rows.filter(status__in=("failed", "interrupted"), error_code="").exclude(error="").update(error_code=fits)
    passed_over = compactions.exclude(steps=[]).only("pk", "steps")
    for batch in batched(passed_over.iterator(chunk_size=BATCH), BATCH):
        changed = [row for row in batch if any("failed" in step for step in row.steps)]
        for row in changed:
            row.steps = [
                {**step, "code": code_of(step["failed"])} if "failed" in step and "code" not in step else step
                for step in row.steps
            ]
        compactions.bulk_update(changed, ["steps"])


class Migration(migrations.Migration):
    dependencies = [("conversations", "0015_search_index"), ("compression", "0009_error_code")]

    operations = [
        migrations.AddField(
            "message",
            "error_code",
            models.CharField(blank=True, db_default="", default="", editable=False, max_length=32),
        ),
        migrations.RunPython(fill_codes, migrations.RunPython.noop, elidable=True),
    ]
