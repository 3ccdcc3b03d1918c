"""Figures as they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The median, and what 99 % are not above; not a number where there is no value."""
    if not values:
        return nan, nan
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def table(*heads: str) -> None:
    print()
    row(*heads)
    row("---", *["---:"] * (len(heads) - 1))
