"""Figures as they are printed, and the goals that they are held against."""

from __future__ import annotations

from collections.abc import Sequence


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The median, and what 99 % are not above."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def held(value: float, goal: float, form: str) -> str:
    """A figure that shall not be above its goal."""
    return form.format(value) + ("" if value <= goal else " (missed)")


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def table(*heads: str) -> None:
    print()
    row(*heads)
    row("---", *["---:"] * (len(heads) - 1))
