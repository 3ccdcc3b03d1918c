"""Plain ways to choose from a conversation, each as a ranking of its units."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.units import Unit

RELEVANCE = 0.7
"""Of MMR: the rest is novelty."""


def last(units: Sequence[Unit]) -> Iterable[int]:
    return reversed(range(len(units)))


def at_random(units: Sequence[Unit]) -> Iterable[int]:
    order = list(range(len(units)))
    random.Random(0).shuffle(order)
    return order


def rare_words(units: Sequence[Unit]) -> Iterable[int]:
    """Greedily the unit with most weight of words that no chosen one has, by their rarity, for its length."""
    frequency = Counter(word for unit in units for word in unit.words)
    uncovered = set(frequency)

    def gain(number: int) -> float:
        return sum(1 / frequency[word] for word in units[number].words & uncovered) / units[number].tokens

    return _greedily(len(units), gain, lambda number: uncovered.difference_update(units[number].words))


def mmr(units: Sequence[Unit]) -> Iterable[int]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998) over TF-IDF: likeness to all, unlikeness to chosen."""
    vectors = _tf_idf(units)
    centre = vectors.sum(axis=0)
    relevance = vectors @ (centre / (np.linalg.norm(centre) or 1.0))
    likeness = np.zeros(len(units))
    left = np.ones(len(units), dtype=bool)
    for _ in units:
        score = np.where(left, RELEVANCE * relevance - (1 - RELEVANCE) * likeness, -np.inf)
        best = int(score.argmax())
        left[best] = False
        likeness = np.maximum(likeness, vectors @ vectors[best])
        yield best


def _tf_idf(units: Sequence[Unit]) -> np.ndarray:
    """A row of length 1 a unit."""
    frequency = Counter(word for unit in units for word in unit.words)
    columns = {word: column for column, word in enumerate(frequency)}
    vectors = np.zeros((len(units), len(columns)))
    for number, unit in enumerate(units):
        for word in unit.words:
            vectors[number, columns[word]] = np.log(len(units) / frequency[word])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _greedily(size: int, gain: Callable[[int], float], take: Callable[[int], None]) -> Iterable[int]:
    left = set(range(size))
    while left:
        best = max(sorted(left), key=gain)
        left.remove(best)
        take(best)
        yield best
