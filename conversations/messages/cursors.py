"""Writes moments into cursors and event ids, as microseconds since 1970: the precision of the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from conversations.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment_at(microseconds: int | str) -> datetime:
    """The moment of a number of microseconds. Raises ValueError for no number, OverflowError for one out of range."""
    return EPOCH + int(microseconds) * MICROSECOND


def not_ours() -> Invalid:
    """The error for a cursor that no page returned."""
    return Invalid("cursor: take it from `next` of the page before.", field="cursor")
