"""Bootstrap intervals of a mean: the same questions, drawn again with replacement."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import mean

ROUNDS, SEED = 1_000, 33


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The bounds that 95 % of the means of ROUNDS samples lie within; (value, value) for a single one.

    The percentile bootstrap of Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    chance = random.Random(SEED)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(ROUNDS))
    return means[ROUNDS // 40], means[-1 - ROUNDS // 40]


def written(values: Sequence[float]) -> str:
    """The mean with its interval: ".866 [.812, .914]"."""
    low, high = interval(values)
    return f"{mean(values):.3f} [{low:.3f}, {high:.3f}]"
