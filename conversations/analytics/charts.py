"""Charts as values: what is drawn (`conversations.drawing`), and how its figures read."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

STEPS = (1, 2, 2.5, 5, 10)
MAX_SERIES = 3
SIZES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))

type Unit = Literal["tokens", "count", "usd", "percent", "ms"]
type Value = float | None


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """`labels` name the places of the values, from left to right or from the top down; `note` says what is to be
    known of them. Bars and ranks are stacked, what is below 0 downwards."""

    title: str
    unit: Unit
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    kind: Literal["bars", "lines", "ranks"] = "bars"
    note: str = ""

    def __post_init__(self) -> None:
        assert len(self.series) <= MAX_SERIES
        assert all(len(one.values) == len(self.labels) for one in self.series)

    @property
    def is_empty(self) -> bool:
        return not any(value for one in self.series for value in one.values)

    @property
    def id(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())

    @property
    def places(self) -> list[tuple[str, tuple[Value, ...]]]:
        """Each label with its values, one of each series."""
        return list(zip(self.labels, zip(*(one.values for one in self.series), strict=True), strict=True))

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The same figures for a table: a label, and its values in words."""
        return [(label, [labelled(value, self.unit) for value in values]) for label, values in self.places]


def labelled(value: Value, unit: Unit) -> str:
    """A value in words, whole: "–" where there is none."""
    if value is None:
        return "–"
    match unit:
        case "usd":
            return f"{'−' if value < 0 else ''}${abs(value):,.{2 if abs(value) >= 0.1 or not value else 4}f}"
        case "percent":
            return f"{value:.1f} %"
        case "ms":
            return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms"
    return f"{value:,.0f}"


def short(value: float, unit: Unit) -> str:
    """A value beside an axis, where there is little room."""
    if unit == "percent":
        return f"{value:g} %"
    if unit == "ms":
        return f"{value / 1000:,g} s" if value >= 1000 else f"{value:g} ms"
    size, letter = next((one for one in SIZES if abs(value) >= one[0]), (1, ""))
    return f"{'−' if value < 0 else ''}{'$' if unit == 'usd' else ''}{abs(value) / size:g}{letter}"


def ticks(low: float, high: float, *, most: int = 5) -> list[float]:
    """Round numbers from one at or below `low` to one at or above `high`."""
    span = (high - low) or abs(high) or 1
    power = 10.0 ** floor(log10(span / most))
    step = next(one * power for one in STEPS if span / (one * power) <= most)
    first, last = floor(low / step), max(ceil(high / step), floor(low / step) + 1)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]
