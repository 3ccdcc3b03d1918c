"""Parses times, ids and numbers from query strings and form fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from django.http import QueryDict

from conversations.errors import Invalid


def moment(values: Mapping[str, str], name: str) -> datetime | None:
    """A time with its zone, in ISO 8601; None if the field is empty. Raises Invalid."""
    text = values.get(name, "")
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Invalid(f"{name}: must be a time with its zone, as in 2026-01-31T12:00:00+00:00.", field=name)


def id_of(values: Mapping[str, str], name: str) -> UUID | None:
    """An id; None if the field is empty. Raises Invalid."""
    text = values.get(name, "")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise Invalid(f"{name}: must be an id.", field=name) from None


def ids_of(values: QueryDict, name: str) -> list[UUID]:
    """The ids of a repeated field, in order. Raises Invalid."""
    try:
        return [UUID(text) for text in values.getlist(name)]
    except ValueError:
        raise Invalid(f"{name}: must be ids.", field=name) from None


def whole_number(values: Mapping[str, str], name: str) -> int:
    """A whole number from 0, of at most nine digits. Raises Invalid."""
    text = values.get(name, "")
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    raise Invalid(f"{name}: must be a whole number.", field=name)
