"""How the time of a reader grows with what it reads, in seconds of CPU while the input doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

from tests.timing import cpu_seconds

FLOOR = 0.1
"""Seconds under which a time says nothing about growth on a machine that does other things meanwhile."""
TWICE_DOUBLED = 2.6**2
"""How many times as long four times the input may take: a linear reader's 4, and noise; a quadratic one takes 16."""
LONG = 0.15
"""Seconds beyond which no larger input is tried."""
COMPARED = 3
"""Sizes that show growth: fewer of them would pass any reader."""
AGAIN = 4
"""Further measurements of a doubtful reader: a machine that does other things meanwhile is no growth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The seconds for each size that was tried; each size is twice the one before."""

    times: dict[int, float]

    @property
    def is_linear(self) -> bool:
        seconds = list(self.times.values())
        return all(
            after <= max(FLOOR, TWICE_DOUBLED * before) for before, after in zip(seconds, seconds[2:], strict=False)
        )

    @property
    def order(self) -> float:
        """The exponent, of the last two doublings."""
        before, _, after = list(self.times.values())[-3:]
        return round(log2(after / max(before, 1e-6)) / 2, 1)


def growth(read: Callable[[Any], Any], make: Callable[[int], Any], *, start: int = 100, largest: int) -> Growth:
    """The times of `read(make(n))`, for n of `start`, twice as much and so on up to `largest`.

    A reader that is slow from the first size on is tried with smaller ones too.
    """
    times: dict[int, float] = {}
    size = start
    while size <= largest and max(times.values(), default=0.0) < LONG:
        given = make(size)
        times[size] = cpu_seconds(lambda given=given: read(given))
        size *= 2
    while len(times) < COMPARED and min(times) > 1:
        size = min(times) // 2
        times = {size: _again(read, make(size)), **times}
    for _ in range(AGAIN):
        if Growth(times).is_linear:
            break
        times = {size: min(seconds, _again(read, make(size))) for size, seconds in times.items()}
    return Growth(times)


def repeated(fragment: str, *, before: str = "", after: str = "") -> Callable[[int], str]:
    """Texts of about n characters: the fragment over and over, between two ends."""
    return lambda size: before + fragment * max(1, size // len(fragment)) + after


def _again(read: Callable[[Any], Any], given: Any) -> float:
    return cpu_seconds(lambda: read(given), rounds=2)
