"""Choosing what to keep: greedy coverage of weighted features, each worth less the more often it is covered."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to choose. `features` index the worths of `Coverage`, `headers` its prices; `cost` is in tokens.

    A header is a line that its candidates share, paid once. `stretch` is the part of the conversation it speaks for.
    """

    features: tuple[int, ...]
    cost: float
    weight: float
    headers: tuple[int, ...]
    stretch: int


SMOOTHING = 4.0
"""Tokens added to every cost, so that the shortest are not always the best."""

PATIENCE = 100
"""Gains that are recomputed for one choice: thousands of candidates almost alike would otherwise take forever."""

SHORTEST = 2.0
"""Tokens under which nothing is worth looking for any more."""


@dataclass(slots=True)
class Coverage:
    """Greedy choice by gain = weight x sum of what the features are still worth / (cost + 4), evaluated lazily.

    Gains fall as features are covered, so the best of a heap of stale gains, once recomputed, is the best of all if it
    stays on top (but for headers that others paid meanwhile). `worth` and `prices` are consumed: choosing a candidate
    multiplies each of its features by its `decay` and makes its headers free.
    """

    candidates: Sequence[Candidate]
    worth: list[float]
    decay: Sequence[float]
    prices: list[float]
    chosen: list[int] = field(default_factory=list)
    spent: float = 0.0
    _taken: set[int] = field(default_factory=set)

    def take(self, number: int) -> None:
        candidate = self.candidates[number]
        self.spent += self._cost(candidate)
        for header in candidate.headers:
            self.prices[header] = 0.0
        self._taken.add(number)
        self.chosen.append(number)
        for feature in candidate.features:
            self.worth[feature] *= self.decay[feature]

    def refund(self, numbers: Iterable[int]) -> None:
        """Give back the cost of chosen candidates that need not be shown, because others tell the same."""
        self.spent -= sum(self.candidates[number].cost for number in numbers)

    def fill(self, numbers: Iterable[int], budget: float) -> None:
        """Take the best of `numbers` until `budget` tokens more are spent or none fits."""
        limit = self.spent + budget
        for number in self._best_first([number for number in numbers if number not in self._taken]):
            if self.spent + self._cost(self.candidates[number]) <= limit:
                self.take(number)
            if limit - self.spent < SHORTEST:
                return

    def floors(self, budget: float, sizes: Sequence[float]) -> None:
        """Give every stretch its part of `budget` by its size, so that none goes without a word."""
        members: dict[int, list[int]] = defaultdict(list)
        for number, candidate in enumerate(self.candidates):
            members[candidate.stretch].append(number)
        total = sum(sizes) or 1.0
        for stretch in sorted(members):
            self.fill(members[stretch], budget * sizes[stretch] / total)

    def value(self, number: int) -> float:
        """What a candidate would add now, whatever it costs."""
        candidate = self.candidates[number]
        return candidate.weight * sum(map(self.worth.__getitem__, candidate.features))

    def gain(self, number: int) -> float:
        return self.value(number) / (self._cost(self.candidates[number]) + SMOOTHING)

    def _cost(self, candidate: Candidate) -> float:
        return candidate.cost + sum(map(self.prices.__getitem__, candidate.headers))

    def _best_first(self, numbers: list[int]) -> Iterator[int]:
        heap = [(-self.gain(number), number) for number in numbers]
        heapq.heapify(heap)
        tries = 0
        while heap:
            tries += 1
            gain = -self.gain(heap[0][1])
            if tries > PATIENCE or all(gain <= other for other, _ in heap[1:3]):
                yield heapq.heappop(heap)[1]
                tries = 0
            else:
                heapq.heapreplace(heap, (gain, heap[0][1]))
