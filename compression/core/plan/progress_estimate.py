"""Estimates a running compaction's progress and remaining time from the parts that are already summarised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

MAX_WRITTEN_SHARE = 0.95
"""The share of a part's expected text up to which its length shows progress; a longer text may end at any time."""


@dataclass(slots=True)
class _Part:
    """A part that is being summarised, since the moment `since`; `first_words`: the moment when its text began."""

    since: float
    first_words: float | None = None
    written: float = 0.0

    def seconds(self, now: float) -> float | None:
        """The estimated time of the whole part by the text that is arriving; None before it is."""
        if self.first_words is None or now <= self.first_words:
            return None
        return self.first_words - self.since + (now - self.first_words) / self.written


class ProgressEstimate:
    """The progress of a compaction whose parts (requests) are made in steps, several at a time; times are seconds.

    `usual` is the time that all parts together took in earlier runs, None if unknown. It is the estimate until the
    first part is done or its text begins to arrive.
    """

    def __init__(self, *, usual: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = usual
        self._clock = clock
        self._since = clock()
        self._steps: list[list[float]] = []
        self._weights: list[float] = []
        self._at_once = 1
        self._under_way: dict[int, _Part] = {}
        self._took: dict[int, float] = {}

    @property
    def parts(self) -> int:
        return len(self._weights)

    @property
    def done(self) -> int:
        return len(self._took)

    def plan(self, steps: Sequence[Sequence[float]], *, at_once: int) -> None:
        """Set the weights of all parts, a list for each step, whose parts are made `at_once` at a time.

        A later plan has the same parts as far as they have begun.
        """
        if not self._weights:
            self._since = self._clock()
        self._steps, self._at_once = [list(step) for step in steps], at_once
        self._weights = [weight for step in steps for weight in step]

    def begin(self, number: int) -> None:
        """Note that part `number` (from 0) begins."""
        self._under_way[number] = _Part(self._clock())

    def write(self, number: int, share: float) -> None:
        """Note which share of a part's expected text is written; a smaller one than before means a new attempt."""
        part = self._under_way.get(number)
        if part is None:
            return
        if share <= 0 or share < part.written:
            part.first_words, part.written = None, 0.0
        if share > 0:
            part.first_words = part.first_words or self._clock()
            part.written = min(share, MAX_WRITTEN_SHARE)

    def end(self, number: int) -> None:
        """Note that a part is done."""
        part = self._under_way.pop(number)
        self._took[number] = self._clock() - part.since

    @property
    def share(self) -> float:
        """The share of all parts that is done, from 0 to 1."""
        done = sum(self._weights[number] for number in self._took)
        written = sum(self._weights[number] * part.written for number, part in self._under_way.items())
        return (done + written) / sum(self._weights) if self._weights else 0.0

    @property
    def remaining(self) -> float | None:
        """Estimated seconds until all parts are done; None without any measurement yet."""
        if not self._weights:
            return self._usual
        now = self._clock()
        pace = self._seconds_a_weight(now)
        if pace is not None:
            return self._left(pace, now)
        return None if self._usual is None else max(self._usual - (now - self._since), 0.0)

    def _seconds_a_weight(self, now: float) -> float | None:
        """The seconds that a part of weight 1 takes, by the parts that are done and by the texts that are arriving."""
        seconds, weights = sum(self._took.values()), sum(self._weights[number] for number in self._took)
        for number, part in self._under_way.items():
            if (expected := part.seconds(now)) is not None:
                seconds += part.written * expected
                weights += part.written * self._weights[number]
        return seconds / weights if weights else None

    def _left(self, pace: float, now: float) -> float:
        """The seconds until the last step ends, if free places take the next parts of their step in order."""
        end = 0.0
        for numbers in self._numbers():
            places = [end] * self._at_once
            begun = [self._left_of(number, pace, now) for number in numbers if number in self._under_way]
            places[: len(begun)] = begun
            heapify(places)
            for number in numbers:
                if number not in self._under_way and number not in self._took:
                    heapreplace(places, places[0] + pace * self._weights[number])
            end = max(places)
        return end

    def _left_of(self, number: int, pace: float, now: float) -> float:
        part = self._under_way[number]
        expected = part.seconds(now)
        return max((pace * self._weights[number] if expected is None else expected) - (now - part.since), 0.0)

    def _numbers(self) -> Iterator[range]:
        """The numbers of each step's parts."""
        first = 0
        for step in self._steps:
            yield range(first, first + len(step))
            first += len(step)
