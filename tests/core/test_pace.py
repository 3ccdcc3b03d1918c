"""How long the rest of a compaction takes, from the parts that are done."""

from __future__ import annotations

import pytest

from compression.core.pace import Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def pace(usual: float | None = None) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(usual=usual, clock=clock), clock


def test_before_the_first_part_it_is_what_earlier_runs_took() -> None:
    at, clock = pace(usual=40)
    assert at.remaining == 40
    at.begin(0, 4)
    clock.now += 4
    assert at.remaining == 36
    assert at.share == 0


def test_where_nothing_is_known_nothing_is_said() -> None:
    at, clock = pace()
    at.begin(0, 4)
    clock.now += 30
    assert at.remaining is None


def test_parts_that_are_done_go_before_earlier_runs() -> None:
    at, clock = pace(usual=4)
    at.begin(0, 4)
    clock.now += 10
    at.begin(1, 4)
    assert (at.remaining, at.share) == (30, 0.25)
    clock.now += 14
    at.begin(2, 4)
    assert at.remaining == 24
    clock.now += 5
    assert at.remaining == 19


def test_words_that_come_say_how_long_the_rest_of_them_takes() -> None:
    at, clock = pace()
    at.begin(0, 2)
    clock.now += 10
    at.write(0.01)
    clock.now += 10
    at.write(0.5)
    assert at.share == pytest.approx(0.25)
    assert at.remaining == pytest.approx(10 + 30)


def test_what_is_written_anew_begins_anew_and_no_text_is_longer_than_its_part() -> None:
    at, clock = pace()
    at.begin(0, 1)
    at.write(0.6)
    clock.now += 10
    at.write(0.05)
    assert at.share == pytest.approx(0.05)
    at.write(7.0)
    assert at.share == pytest.approx(0.95)
    at.begin(1, 1)
    assert (at.share, at.remaining) == (1, 0)
