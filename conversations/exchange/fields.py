"""Reads values of a file's JSON. An invalid one is named by its place: `messages[12].role: …`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from conversations.errors import Invalid
from conversations.models import Conversation
from conversations.validation import MAX_CONTENT, clean_text

KINDS = (Conversation.Kind.CHAT.value, Conversation.Kind.AGENT.value)
MAX_NUMBER = 2_000_000_000
"""The largest number that a column holds."""
LAST_YEAR = 9998
"""The last year of a message's date, so that the conversation can continue after it."""


def fault(place: str, what: str) -> Invalid:
    return Invalid(f"{place}: {what}", field=place)


@contextmanager
def within(place: str) -> Iterator[None]:
    """Name `place`, the position in a list, in the refusals of the block; "" for a file with one conversation."""
    try:
        yield
    except Invalid as refusal:
        if not place:
            raise
        detail: dict[str, Any] = refusal.detail | {"field": f"{place}.{refusal.detail.get('field', '')}"}
        raise Invalid(f"{place}.{refusal.message}", **detail) from None


def read_object(place: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise fault(place, "must be an object.")
    return value


def read_list(place: str, value: object, *, limit: int) -> list[Any]:
    if not isinstance(value, list):
        raise fault(place, "must be a list.")
    if len(value) > limit:
        raise fault(place, f"at most {limit:,}, not {len(value):,}.")
    return value


def read_text(place: str, value: object, *, limit: int = MAX_CONTENT) -> str:
    """A text that may be empty; null and a missing field are empty too."""
    return "" if value is None else clean_text(place, value, limit=limit, allow_blank=True)


def read_choice(place: str, value: object, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise fault(place, f"must be one of {', '.join(choices)}.")
    return str(value)


def read_kind(place: str, value: object) -> str:
    """The kind of a conversation in a file; an executor's must be in a run of its agent's."""
    return read_choice(place, value, KINDS)


def read_flag(place: str, value: object) -> bool:
    """A flag; a missing one is off."""
    if value is not None and not isinstance(value, bool):
        raise fault(place, "must be true or false.")
    return bool(value)


def read_date(place: str, value: object) -> datetime | None:
    """An ISO 8601 date, in UTC unless it names a zone; None if it is missing."""
    if value is None or value == "":
        return None
    try:
        date = datetime.fromisoformat(clean_text(place, value, limit=64))
        date = (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise fault(place, "must be a date such as 2026-11-21T09:30:00Z.") from None
    return _storable(place, date)


def read_timestamp(place: str, value: object) -> datetime | None:
    """A date in seconds since 1970, as in ChatGPT's files; None if it is missing."""
    if value is None or isinstance(value, str):
        return read_date(place, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault(place, "must be a date in seconds since 1970.")
    try:
        return _storable(place, datetime.fromtimestamp(value, UTC))
    except (ValueError, OverflowError, OSError):
        raise fault(place, "must be a date in seconds since 1970.") from None


def read_number(place: str, value: object, *, low: int = 0, high: int = MAX_NUMBER) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise fault(place, f"must be a whole number from {low:,} to {high:,}.")
    return value


def _storable(place: str, date: datetime) -> datetime:
    if date.year > LAST_YEAR:
        raise fault(place, f"must not be after the year {LAST_YEAR}.")
    return date
