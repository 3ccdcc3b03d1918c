"""Draws charts as SVG, without scripts or inline styles; charts.css colours them.

A value of None is not drawn. Each place shows its values in a tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from conversations.analytics.charts import Chart, Value, labelled, short, ticks

WIDTH, HEIGHT = 440, 196
LEFT, RIGHT, TOP, BOTTOM = 48, 4, 8, 22
"""The margins around a chart in SVG units; the left one grows with the longest axis label."""
LETTER_WIDTH = 7.5
"""The greatest width of a letter beside an axis, which is larger on a phone."""
MAX_LABELS = 5
"""The most labels below a chart; tooltips show the places between."""
FLAT_SHARE = 0.5
"""If lines never fall below this share of their highest point, their scale does not begin at 0."""
MAX_DOTTED_PLACES = 31
"""The most places at which each point of a line is marked."""
ROW, NAMES, SUMS = 26, 140, 56
"""A ranking's row height, and the widths for its names and its sums."""
MAX_LABEL_CHARS = 22
"""The most letters of a ranking's name."""


def chart_svg(chart: Chart) -> SafeString:
    """The chart as an SVG element, with every text escaped."""
    return mark_safe(DRAWN[chart.kind](chart))


def _tip(chart: Chart, label: str, values: Sequence[Value]) -> str:
    parts = (f"{one.name} {labelled(value, chart.unit)}" for one, value in zip(chart.series, values, strict=True))
    return f"{label}: {', '.join(parts)}"


def _stacked(chart: Chart) -> list[list[tuple[float, float]]]:
    """For each place, the begin and end of each series' bar: values above 0 stack upwards, others downwards."""
    stacks = []
    for _label, values in chart.places:
        up = down = 0.0
        spans = []
        for value in (one or 0 for one in values):
            begin = up if value >= 0 else down
            up, down = (up + value, down) if value >= 0 else (up, down + value)
            spans.append((begin, begin + value))
        stacks.append(spans)
    return stacks


def _bars(chart: Chart) -> str:
    stacks = _stacked(chart)
    axis = _Axis(chart, [end for spans in stacks for span in spans for end in span])
    wide = max(1.0, axis.step * 0.72)
    marks = []
    for place, spans in enumerate(stacks):
        for number, (begin, end) in enumerate(spans):
            top, bottom = sorted((axis.y(begin), axis.y(end)))
            if bottom - top > 0:
                left = axis.x(place) - wide / 2
                tall = max(bottom - top, 1)
                marks.append(
                    _tag("rect", class_=f"s{number}", x=left, y=top, width=wide, height=tall, rx=min(2, wide / 4))
                )
    return _framed(chart, axis.drawn + "".join(marks) + axis.tips, HEIGHT)


def _lines(chart: Chart) -> str:
    axis = _Axis(chart, [value for one in chart.series for value in one.values if value is not None])
    marks = []
    for number, one in enumerate(chart.series):
        points = [None if value is None else (axis.x(place), axis.y(value)) for place, value in enumerate(one.values)]
        path = "".join(
            f"{'L' if n and points[n - 1] else 'M'}{_rounded(at[0])} {_rounded(at[1])}"
            for n, at in enumerate(points)
            if at
        )
        marks.append(_tag("path", class_=f"trace s{number}", d=path) if path else "")
        if len(points) <= MAX_DOTTED_PLACES or axis.is_scattered(points):
            marks += [_tag("circle", class_=f"s{number}", cx=at[0], cy=at[1], r=2.2) for at in points if at]
    return _framed(chart, axis.drawn + "".join(marks) + axis.tips, HEIGHT)


def _ranks(chart: Chart) -> str:
    """A ranking: for each label a row with its name, a bar of its parts, and their sum."""
    sums = [sum(value or 0 for value in values) for _, values in chart.places]
    scale = (WIDTH - NAMES - SUMS) / (max(sums, default=0) or 1)
    marks = []
    for row, (label, values) in enumerate(chart.places):
        top, left = ROW * row, float(NAMES)
        name = label if len(label) <= MAX_LABEL_CHARS else f"{label[: MAX_LABEL_CHARS - 1]}…"
        marks.append(_tag("text", name, class_="name", x=NAMES - 10, y=top + 18, text_anchor="end"))
        for number, value in enumerate(values):
            if value:
                marks.append(_tag("rect", class_=f"s{number}", x=left, y=top + 5, width=value * scale, height=18, rx=2))
                left += value * scale
        marks.append(_tag("text", labelled(sums[row], chart.unit), class_="sum", x=left + 8, y=top + 18))
        tip = _tag("title", _tip(chart, label, values))
        marks.append(_tag("rect", safe=tip, class_="tip", x=0, y=top, width=WIDTH, height=ROW))
    return _framed(chart, "".join(marks), max(1, len(chart.labels)) * ROW)


class _Axis:
    """The axes of a chart: a scale of round numbers that fits `values`, and labels below."""

    def __init__(self, chart: Chart, values: Sequence[float]) -> None:
        self.chart = chart
        low, high = min(values, default=0), max(values, default=0)
        is_flat = chart.kind == "lines" and low > FLAT_SHARE * high
        self.scale = ticks(low if is_flat else min(low, 0), max(high, 0))
        self.left = max(LEFT, 10 + LETTER_WIDTH * max(len(short(value, chart.unit)) for value in self.scale))
        self.step = (WIDTH - self.left - RIGHT) / max(1, len(chart.labels))

    def x(self, place: int) -> float:
        return self.left + self.step * (place + 0.5)

    def y(self, value: float) -> float:
        low, high = self.scale[0], self.scale[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    def is_scattered(self, points: Sequence[object]) -> bool:
        """Whether a point has no neighbours, so that a line would not show it."""
        around = [None, *points, None]
        return any(around[n] and not around[n - 1] and not around[n + 1] for n in range(1, len(around) - 1))

    @property
    def drawn(self) -> str:
        parts = []
        for value in self.scale:
            at = self.y(value)
            parts.append(_tag("line", class_="grid" if value else "zero", x1=self.left, x2=WIDTH - RIGHT, y1=at, y2=at))
            parts.append(_tag("text", short(value, self.chart.unit), x=self.left - 7, y=at + 4, text_anchor="end"))
        every = max(1, ceil(len(self.chart.labels) / MAX_LABELS))
        for place in range(len(self.chart.labels) - 1, -1, -every):
            at, label = self.x(place), self.chart.labels[place]
            anchor = "end" if place == len(self.chart.labels) - 1 and place else "middle"
            parts.append(_tag("text", label, x=at, y=HEIGHT - 7, text_anchor=anchor))
        return "".join(parts)

    @property
    def tips(self) -> str:
        """An invisible strip over each place, with a tooltip of its figures."""
        parts = []
        for place, (label, values) in enumerate(self.chart.places):
            tip, left = _tag("title", _tip(self.chart, label, values)), self.left + self.step * place
            tall = HEIGHT - TOP - BOTTOM
            parts.append(_tag("rect", safe=tip, class_="tip", x=left, y=TOP, width=self.step, height=tall))
        return "".join(parts)


DRAWN: dict[str, Callable[[Chart], str]] = {"bars": _bars, "lines": _lines, "ranks": _ranks}


def _framed(chart: Chart, content: str, height: float) -> str:
    names = ", ".join(one.name for one in chart.series)
    title = _tag("title", chart.title, id=f"{chart.id}-title")
    description = _("%(names)s. The table below it has the same figures.") % {"names": names}
    desc = _tag("desc", description, id=f"{chart.id}-desc")
    named = f"{chart.id}-title {chart.id}-desc"
    box = f"0 0 {WIDTH} {_rounded(height)}"
    return _tag("svg", safe=title + desc + content, class_=chart.kind, viewBox=box, role="img", aria_labelledby=named)


def _tag(name: str, text: str = "", *, safe: str = "", **attributes: str | float) -> str:
    """An SVG element; `safe` is markup inserted without escaping."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_rounded(value) if isinstance(value, int | float) else escape(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{escape(text)}{safe}</{name}>"


def _rounded(value: float) -> str:
    """A length in SVG units, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")
