"""Sums of requests to models: their tokens, cost and savings, by day, model, key and failure reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over requests. `prompt` includes the `cached` tokens; money is in US dollars.

    `unpriced` counts the requests of unknown cost, `saved_unpriced` the saved tokens of unknown worth; no sum of money
    includes them.
    """

    requests: int = 0
    failed: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    saved: int = 0
    worth: Decimal = Decimal(0)
    saved_unpriced: int = 0

    @property
    def failed_share(self) -> float | None:
        return self.failed / self.requests if self.requests else None

    @property
    def fresh(self) -> int:
        return self.prompt - self.cached

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    @property
    def uncompressed(self) -> int:
        """Tokens that the prompts would have held without compaction."""
        return self.prompt + self.saved

    @property
    def cached_share(self) -> float | None:
        return self.cached / self.prompt if self.prompt else None

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.requests + other.requests,
            self.failed + other.failed,
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.saved + other.saved,
            self.worth + other.worth,
            self.saved_unpriced + other.saved_unpriced,
        )


class Kind(NamedTuple):
    """The key by which requests are grouped. `reason` is "" for successful requests."""

    day: date
    model: str
    key: int | None
    reason: str


type Tallies = dict[Kind, Tally]


def total(tallies: Iterable[Tally]) -> Tally:
    return sum(tallies, Tally())


def merged(*several: Tallies) -> Tallies:
    sums = defaultdict[Kind, Tally](Tally)
    for tallies in several:
        for kind, tally in tallies.items():
            sums[kind] += tally
    return dict(sums)


def grouped[By](of: Tallies, by: Callable[[Kind], By]) -> dict[By, Tally]:
    """The totals grouped by the values of `by`."""
    sums: dict[By, Tally] = defaultdict(Tally)
    for kind, tally in of.items():
        sums[by(kind)] += tally
    return dict(sums)
