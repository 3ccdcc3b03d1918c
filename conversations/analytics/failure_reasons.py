"""Why replies and summaries failed, in a few words: their errors are sentences, which name models and addresses."""

from __future__ import annotations

from django.db.models import Case, CharField, Value, When

OTHER = "other"
TOLD = (
    ("no credit left", "no credit"),
    ("too many requests", "rate limited"),
    ("refused the API key", "key refused"),
    ("has no API key", "no key"),
    ("than the model's context window", "context too large"),
    ("fit the model's context window", "context too large"),
    ("does not know the model", "model not found"),
    ("nothing came from", "silence"),
    ("was not whole after", "silence"),
    ("broke off", "broken reply"),
    ("broke the reply off", "broken reply"),
    ("could not be read", "broken reply"),
    ("sent a web page", "broken reply"),
    ("sent an empty reply", "empty reply"),
    ("used all its tokens", "empty reply"),
    ("does not end its reply", "cut off"),
    ("was cut off", "cut off"),
    ("content filter", "refusal"),
    ("refused to summarise", "refusal"),
    ("refused this request", "request refused"),
    ("reports a conflict", "request refused"),
    ("is overloaded", "provider fault"),
    ("has a fault", "provider fault"),
    ("cannot be reached", "unreachable"),
    ("closed the connection", "unreachable"),
    ("summary is empty", "empty reply"),
    ("lacks its headings", "no headings"),
    ("nothing under them", "no headings"),
    ("another language", "other language"),
    ("nothing is saved", "too long"),
    ("over its limit", "too long"),
    ("another summary was better", "facts lost"),
    ("tokens is too small", "window too small"),
    ("resting after", "resting after failures"),
    ("as often as is allowed", "attempts used up"),
    ("there is no such model", "no model"),
    ("No model is set", "no model"),
    ("has no model", "no model"),
    ("could not be loaded", "no model"),
    ("worker stopped", "worker stopped"),
    ("was stopped before", "worker stopped"),
    ("server stopped", "worker stopped"),
    ("Something went wrong", "fault of this site"),
    ("was deleted", "deleted meanwhile"),
)
"""What an error says, and the reason that it means: the first that fits."""


def reason_of(error: str) -> str:
    lowered = error.lower()
    return next((reason for words, reason in TOLD if words.lower() in lowered), OTHER)


def reason_in(column: str) -> Case:
    """The same, in the database: no error is read for it."""
    whens = [When(**{f"{column}__icontains": words}, then=Value(reason)) for words, reason in TOLD]
    return Case(*whens, default=Value(OTHER), output_field=CharField())


def words_of(code: str) -> str:
    """An error's code as words."""
    return code.replace("_", " ")
