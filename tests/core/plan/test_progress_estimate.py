"""How long the rest of a compaction takes, from the parts that are done and the texts that arrive."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import pytest

from compression.core.merging import MergeStrategy, Size, weight
from compression.core.plan.progress_estimate import ProgressEstimate


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def pace(parts: int = 0, usual: float | None = None, at_once: int = 1) -> tuple[ProgressEstimate, Clock]:
    clock = Clock()
    measured = ProgressEstimate(usual=usual, clock=clock)
    if parts:
        measured.plan([[1.0] * parts], at_once=at_once)
    return measured, clock


def test_before_the_first_part_it_is_what_earlier_runs_took() -> None:
    at, clock = pace(usual=40)
    assert at.remaining == 40
    at.plan([[1.0] * 4], at_once=1)
    at.begin(0)
    clock.now += 4
    assert at.remaining == 36
    assert at.share == 0
    clock.now += 50
    assert at.remaining == 0


def test_where_nothing_is_known_nothing_is_said() -> None:
    at, clock = pace(4)
    at.begin(0)
    clock.now += 30
    assert at.remaining is None


def test_parts_that_are_done_go_before_earlier_runs() -> None:
    at, clock = pace(4, usual=4)
    at.begin(0)
    clock.now += 10
    at.end(0)
    assert (at.remaining, at.share, at.done, at.parts) == (30, 0.25, 1, 4)
    at.begin(1)
    clock.now += 14
    at.end(1)
    at.begin(2)
    assert at.remaining == 24
    clock.now += 5
    assert at.remaining == 19


def test_words_that_come_say_how_long_the_rest_of_them_takes() -> None:
    at, clock = pace(2)
    at.begin(0)
    clock.now += 10
    at.write(0, 0.01)
    clock.now += 10
    at.write(0, 0.5)
    assert at.share == pytest.approx(0.25)
    assert at.remaining == pytest.approx(10 + 30)


def test_what_is_written_anew_begins_anew_and_no_text_is_longer_than_its_part() -> None:
    at, clock = pace(1)
    at.begin(0)
    at.write(0, 0.6)
    clock.now += 10
    at.write(0, 0.05)
    assert at.share == pytest.approx(0.05)
    at.write(0, 7.0)
    assert at.share == pytest.approx(0.95)
    at.end(0)
    at.write(0, 0.5)  # its last words come late
    assert (at.share, at.remaining) == (1, 0)


def test_parts_at_once_share_the_time_that_is_left() -> None:
    at, clock = pace(9, at_once=4)
    for number in range(4):
        at.begin(number)
    clock.now += 10
    at.end(2)
    assert at.remaining == 10 + 10, "five more are left, of which three others are as good as done"
    assert at.share == pytest.approx(1 / 9)
    for number in (0, 1, 3):
        at.write(number, 0.5)
    assert at.share == pytest.approx(2.5 / 9)


def test_a_step_waits_for_the_one_before_it_and_a_larger_part_takes_longer() -> None:
    clock = Clock()
    at = ProgressEstimate(clock=clock)
    at.plan([[1.0, 1.0, 1.0, 1.0], [3.0]], at_once=4)
    for number in range(4):
        at.begin(number)
    clock.now += 5
    at.end(0)
    assert at.remaining == 15
    assert at.share == pytest.approx(1 / 7)
    at.plan([[1.0, 1.0, 1.0, 1.0], [2.0]], at_once=4)
    assert at.remaining == 10, "a later plan counts from then on"


SPANS = {
    "the same": lambda sizes, luck: [4.0 for _ in sizes],
    "by size": lambda sizes, luck: [each / 1_000 for each in sizes],
    "by luck": lambda sizes, luck: [luck.uniform(3.4, 4.6) for _ in sizes],
    "a slow merge": lambda sizes, luck: [*[4.0 for _ in sizes[:-1]], 9.0],
}
"""How long requests with texts of so many tokens take, the last of which is the merge."""


@pytest.mark.parametrize("spans", SPANS)
@pytest.mark.parametrize("at_once", [1, 2, 4, 8])
@pytest.mark.parametrize("sizes", ["equal", "different"])
def test_after_the_first_part_the_remaining_time_is_right_within_a_third(spans: str, at_once: int, sizes: str) -> None:
    """The parts of 140,000 tokens for a summariser that reads 8,192, in a simulation of the whole run."""
    luck = random.Random(7)
    for _ in range(20):
        items = [Size(100 if sizes == "equal" else luck.choice((60, 900, 3_000))) for _ in range(1_400)]
        while sum(item.tokens for item in items) > 140_000:
            items.pop()
        merging = MergeStrategy(8_192 - 1_200, 1_024)
        found = merging.divided(items)
        assert found is not None
        tokens, parts = found
        steps = [[weight(part, tokens) for part in parts], *merging.expected(len(parts), tokens)]
        took = SPANS[spans]([*(sum(item.tokens for item in part) for part in parts), merging.last_room], luck)
        told = list(simulated(steps, took, at_once))
        remaining, actual = told[0]
        assert actual * 2 / 3 <= remaining <= actual * 4 / 3, told[0]


def simulated(steps: Sequence[Sequence[float]], took: Sequence[float], at_once: int) -> Iterator[tuple[float, float]]:
    """(remaining time as it is told, as it is) at the end of each part, where a free place takes the next part."""
    clock = Clock()
    at, first, moments = ProgressEstimate(clock=clock), 0, []
    at.plan(steps, at_once=at_once)
    for step in steps:
        waiting, busy = list(range(first, first + len(step))), []
        first += len(step)
        while waiting or busy:
            while waiting and len(busy) < at_once:
                at.begin(waiting[0])
                heappush(busy, (clock.now + took[waiting[0]], waiting.pop(0)))
            clock.now, number = heappop(busy)
            at.end(number)
            moments.append((at.remaining, clock.now))
    for remaining, moment in moments:
        assert remaining is not None
        yield remaining, clock.now - moment
