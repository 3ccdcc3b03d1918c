"""Charts as values, independent of their drawing (`svg_charts`), and the format of their figures."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from conversations.runtime.amounts import localized

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
    """A chart of up to MAX_SERIES series. `labels` name the places of the values, from left to right or top to bottom.

    `note` explains the figures. Bars and ranks are stacked; values below 0 stack downwards.
    """

    title: str
    unit: Unit
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    kind: Literal["bars", "lines", "ranks"] = "bars"
    note: str = ""

    def __post_init__(self) -> None:
        assert len(self.series) <= MAX_SERIES
        assert all(len(item.values) == len(self.labels) for item in self.series)

    @property
    def is_empty(self) -> bool:
        return not any(value for item in self.series for value in item.values)

    @property
    def id(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())

    @property
    def places(self) -> list[tuple[str, tuple[Value, ...]]]:
        """Each label with its values, one for each series."""
        return list(zip(self.labels, zip(*(item.values for item in self.series), strict=True), strict=True))

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The chart's figures for a table: each label with its formatted values."""
        return [(label, [labelled(value, self.unit) for value in values]) for label, values in self.places]


def labelled(value: Value, unit: Unit) -> str:
    """A value formatted in full; "–" if there is none."""
    if value is None:
        return "–"
    match unit:
        case "usd":
            figure = f"{'−' if value < 0 else ''}${abs(value):,.{2 if abs(value) >= 0.1 or not value else 4}f}"
        case "percent":
            figure = f"{value:.1f} %"
        case "ms":
            figure = f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms"
        case _:
            figure = f"{value:,.0f}"
    return localized(figure)


def short(value: float, unit: Unit) -> str:
    """A value in a short format, for an axis."""
    if unit == "percent":
        return localized(f"{value:g} %")
    if unit == "ms":
        return localized(f"{value / 1000:,g} s" if value >= 1000 else f"{value:g} ms")
    size, letter = next((item for item in SIZES if abs(value) >= item[0]), (1, ""))
    return localized(f"{'−' if value < 0 else ''}{'$' if unit == 'usd' else ''}{abs(value) / size:g}{letter}")


def ticks(low: float, high: float, *, most: int = 5) -> list[float]:
    """Round numbers from one at or below `low` to one at or above `high`."""
    span = (high - low) or abs(high) or 1
    power = 10.0 ** floor(log10(span / most))
    step = next(item * power for item in STEPS if span / (item * power) <= most)
    first, last = floor(low / step), max(ceil(high / step), floor(low / step) + 1)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]
