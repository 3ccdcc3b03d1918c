"""Moments in cursors and ids of events: microseconds since 1970, which is as fine as rows have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from conversations.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment_at(microseconds: int | str) -> datetime:
    """Raises ValueError for what is no number, and OverflowError for one that is no moment."""
    return EPOCH + int(microseconds) * MICROSECOND


def not_ours() -> Invalid:
    """For a cursor that no page has given."""
    return Invalid("cursor: take it from `next` of the page before.", field="cursor")
