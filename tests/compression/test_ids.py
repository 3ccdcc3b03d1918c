from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from compression.days import Days, day_of
from compression.ids import EPOCH, first_id, moment_of, uuid7


def test_the_first_id_of_a_moment_is_before_every_id_that_is_made_from_then_on_and_after_all_earlier_ones() -> None:
    earlier = uuid7()
    time.sleep(0.002)
    first = first_id(datetime.now(UTC))
    assert all(earlier < first <= uuid7() for _ in range(100))
    assert (first.version, first.variant) == (7, uuid7().variant)


def test_an_id_says_when_it_was_made_to_the_millisecond() -> None:
    moment = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    assert moment_of(first_id(moment)) == moment.replace(microsecond=999_000)
    assert abs(moment_of(uuid7()) - datetime.now(UTC)) < timedelta(seconds=5)
    assert moment_of(first_id(EPOCH - timedelta(days=1))) == EPOCH


def test_a_day_is_from_its_midnight_to_the_next_in_utc() -> None:
    days = Days.until(datetime(2026, 3, 1, tzinfo=UTC).date(), 3)
    assert [str(day) for day in days.dates] == ["2026-02-27", "2026-02-28", "2026-03-01"]
    assert len(days) == 3
    first, _, _, end = days.bounds
    assert (moment_of(first), moment_of(end)) == (days.start, days.end)
    assert day_of(first) == days.first
    assert day_of(first_id(days.end - timedelta(milliseconds=1))) == days.last


def test_ids_made_one_after_another_ascend() -> None:
    made = [uuid7() for _ in range(1_000)]
    assert made == sorted(set(made))
