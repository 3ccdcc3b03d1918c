"""Reads Gemini's part of Google's Takeout: single prompts with their answers, which are gathered to conversations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.formats import foreign_text
from conversations.exchange.json_stream import Entry
from conversations.messages.html_text import as_markdown
from conversations.models import Message

NAME = "Gemini's activity (Google Takeout)"
ACTIVITIES = "gemini_activities"
PAUSE = timedelta(hours=1)
"""Prompts with a longer time between them belong to two conversations: the export does not say to which."""
MAX_GATHERED = 1_000
_PRODUCT = re.compile(r"\b(?:Gemini|Bard)\b")
_VERB = re.compile(r"(?:Prompted|Asked|Said)\s+")


def recognises(data: object) -> bool:
    return isinstance(data, dict) and ACTIVITIES in data


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file, with activities that follow each other closely as one."""
    together: list[dict[str, Any]] = []
    for entry in found:
        if entry.is_listed and _is_activity(entry.value):
            if together and (len(together) == MAX_GATHERED or not _are_close(together[-1], entry.value)):
                yield Entry({ACTIVITIES: together}, is_listed=True)
                together = []
            together.append(entry.value)
            continue
        if together:
            yield Entry({ACTIVITIES: together}, is_listed=True)
            together = []
        yield entry
    if together:
        yield Entry({ACTIVITIES: together}, is_listed=True)


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The conversation of activities, which the export has in the reverse order. Raises Invalid, naming the place."""
    activities = data[ACTIVITIES]
    dates = [foreign_text.date(activity.get("time")) for activity in activities]
    if dates[0] and dates[-1] and dates[0] >= dates[-1]:
        activities, dates = activities[::-1], dates[::-1]
    lines = tuple(line for activity, date in zip(activities, dates, strict=True) for line in _lines(activity, date))
    return ImportedSource(
        title="",
        system_prompt="",
        lines=lines,
        results={},
        origin=f"gemini:{dates[0].isoformat()}" if dates[0] else "",
        started=dates[0],
        updated=dates[-1],
        may_be_empty=False,
    )


def _is_activity(value: object) -> bool:
    if not isinstance(value, dict) or "title" not in value or "time" not in value:
        return False
    products = value.get("products")
    named = [value.get("header"), *(products if isinstance(products, list) else ())]
    return any(isinstance(name, str) and _PRODUCT.search(name) for name in named)


def _are_close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    first, second = foreign_text.date(one.get("time")), foreign_text.date(other.get("time"))
    return first is not None and second is not None and abs(first - second) <= PAUSE


def _lines(activity: dict[str, Any], date: datetime | None) -> Iterator[ImportedMessage]:
    files = [foreign_text.file(name) for name in _attached(activity)]
    prompt = _VERB.sub("", foreign_text.stored(activity.get("title")), count=1)
    answers = [as_markdown(foreign_text.stored(item.get("html"))) for item in _objects(activity, "safeHtmlItem")]
    if not any(answers):
        return  # "Used Gemini Apps", a canvas or feedback
    yield ImportedMessage(
        Message.Role.USER.value, foreign_text.checked_text("title", foreign_text.joined(prompt, *files)), date
    )
    text = foreign_text.checked_text("safeHtmlItem", foreign_text.joined(*answers))
    yield ImportedMessage(Message.Role.ASSISTANT.value, text, date, model="Gemini")


def _attached(activity: dict[str, Any]) -> list[object]:
    named = activity.get("attachedFiles")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _objects(activity: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return foreign_text.objects(activity.get(name))
