"""Selects notes by greedy coverage of weighted features; each feature is worth less the more often it is covered."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that can be selected. `features` index `Coverage.worth`, `headers` its `prices`; `cost` is in tokens.

    A header is a line that several candidates share; its price is paid once. `stretch` is the number of the
    candidate's part of the conversation.
    """

    features: tuple[int, ...]
    cost: float
    weight: float
    headers: tuple[int, ...]
    stretch: int


SMOOTHING_TOKENS = 4.0
"""Tokens added to every cost, so that short candidates do not always win."""

MAX_RECOMPUTED_GAINS = 100
"""The most gains recomputed for one choice; without the limit, thousands of similar candidates would take too long."""

MIN_TOKENS_LEFT = 2.0
"""Filling stops once fewer tokens than this are left."""


@dataclass(slots=True)
class Coverage:
    """Greedy selection by gain, computed lazily.

    The gain is weight x the sum of the features' remaining worth / (cost + SMOOTHING_TOKENS).
    Gains only fall as features are covered. If the top of a heap of stale gains stays on top once it is recomputed, it
    is the best candidate (except for headers paid by others meanwhile). `worth` and `prices` are modified: taking a
    candidate multiplies each of its features' worth by its `decay`, and makes its headers free.
    """

    candidates: Sequence[Candidate]
    worth: list[float]
    decay: Sequence[float]
    prices: list[float]
    chosen: list[int] = field(default_factory=list)
    spent: float = 0.0
    _taken: set[int] = field(default_factory=set)

    def take(self, number: int) -> None:
        """Select a candidate at any cost."""
        candidate = self.candidates[number]
        self.spent += self._cost(candidate)
        for header in candidate.headers:
            self.prices[header] = 0.0
        self._taken.add(number)
        self.chosen.append(number)
        for feature in candidate.features:
            self.worth[feature] *= self.decay[feature]

    def refund(self, numbers: Iterable[int]) -> None:
        """Give back the cost of selected candidates that will not be shown, because others contain the same terms."""
        self.spent -= sum(self.candidates[number].cost for number in numbers)

    def fill(self, numbers: Iterable[int], budget: float) -> None:
        """Select the best of `numbers` until `budget` more tokens are spent or no candidate fits."""
        limit = self.spent + budget
        for number in self._best_first([number for number in numbers if number not in self._taken]):
            if self.spent + self._cost(self.candidates[number]) <= limit:
                self.take(number)
            if limit - self.spent < MIN_TOKENS_LEFT:
                return

    def floors(self, budget: float, sizes: Sequence[float]) -> None:
        """Fill each stretch with its share of `budget`, proportional to its size, so that each is represented."""
        members: dict[int, list[int]] = defaultdict(list)
        for number, candidate in enumerate(self.candidates):
            members[candidate.stretch].append(number)
        total = sum(sizes) or 1.0
        for stretch in sorted(members):
            self.fill(members[stretch], budget * sizes[stretch] / total)

    def value(self, number: int) -> float:
        """The remaining worth of a candidate's features times its weight, without regard to its cost."""
        candidate = self.candidates[number]
        return candidate.weight * sum(map(self.worth.__getitem__, candidate.features))

    def gain(self, number: int) -> float:
        """The candidate's value per token."""
        return self.value(number) / (self._cost(self.candidates[number]) + SMOOTHING_TOKENS)

    def _cost(self, candidate: Candidate) -> float:
        return candidate.cost + sum(map(self.prices.__getitem__, candidate.headers))

    def _best_first(self, numbers: list[int]) -> Iterator[int]:
        heap = [(-self.gain(number), number) for number in numbers]
        heapq.heapify(heap)
        tries = 0
        while heap:
            tries += 1
            gain = -self.gain(heap[0][1])
            if tries > MAX_RECOMPUTED_GAINS or all(gain <= other for other, _ in heap[1:3]):
                yield heapq.heappop(heap)[1]
                tries = 0
            else:
                heapq.heapreplace(heap, (gain, heap[0][1]))
