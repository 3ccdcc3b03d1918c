"""Cursors keep a moment to the microsecond, wherever one is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from conversations.api.paging import read_cursor, write_cursor
from conversations.errors import Invalid
from conversations.messages import search
from conversations.messages.cursors import EPOCH, MICROSECOND, microseconds, moment_at

pytestmark = pytest.mark.once

MOMENTS = [
    datetime(2026, 11, 20, 9, 12, 44, 871_023, tzinfo=UTC),
    datetime(2026, 11, 20, 10, 12, 44, 1, tzinfo=UTC) - timedelta(days=30_000),
    EPOCH - MICROSECOND,
    datetime(4999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_moment_is_the_same_after_a_cursor(moment: datetime) -> None:
    assert moment_at(microseconds(moment)) == moment
    assert read_cursor(write_cursor(moment, "a-1")) == (moment, "a-1")


def test_a_moment_beyond_all_dates_is_refused_by_each() -> None:
    with pytest.raises(Invalid, match="take it from `next`"):
        search._read(f"{-9 * 10**16}.{'0' * 32}.")
    with pytest.raises(Invalid, match="take it from `next`"):
        read_cursor("LTkwMDAwMDAwMDAwMDAwMDAwIGE")
