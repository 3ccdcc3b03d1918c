"""Estimates a model's reliability with a conversation that was compacted a number of times."""

from __future__ import annotations

LOSS = 0.9
"""The factor by which each compaction lowers the reliability."""
BY_SIZE = ((70, 0.95), (30, 0.85), (13, 0.7), (7, 0.5))
"""(billions of parameters, reliability before any compaction): a model has that of the first row it reaches."""
SMALLEST = 0.3
"""The reliability, before any compaction, of models below all rows of BY_SIZE."""
UNKNOWN_API, UNKNOWN_LOCAL = 0.95, 0.5
WARN_AFTER = ((3, 3), (7, 5), (13, 7))
"""(billions of parameters at most, number of compactions after which a person is warned)."""
WARN_UNKNOWN, WARN_AT_MOST = 5, 10
"""The same for models of unknown and of larger size."""


def reliability(parameters: float | None, *, is_local: bool, compactions: int) -> float:
    """The reliability after `compactions`, from 0 to 1. `parameters` are billions; None: unknown."""
    if parameters is None:
        start = UNKNOWN_LOCAL if is_local else UNKNOWN_API
    else:
        start = next((trust for least, trust in BY_SIZE if parameters >= least), SMALLEST)
    return float(start * LOSS**compactions)


def warns_after(parameters: float | None) -> int:
    """The number of compactions after which a fresh conversation is the better choice; `parameters` are billions."""
    if parameters is None:
        return WARN_UNKNOWN
    return next((count for most, count in WARN_AFTER if parameters <= most), WARN_AT_MOST)
