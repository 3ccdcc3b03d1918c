from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from conversations.analytics.charts import Chart, Series, labelled, short, ticks
from conversations.analytics.svg_charts import WIDTH, chart_svg

pytestmark = pytest.mark.once

KINDS = ("bars", "lines", "ranks")
SHAPES: dict[str, list[list[float | None]]] = {
    "no places": [[], []],
    "one day": [[3], [4]],
    "all zero": [[0, 0, 0], [0, 0, 0]],
    "nothing known": [[None, None], [None, None]],
    "gaps": [[1, None, 3, None, None, 2], [None, 1, None, None, 5, 5]],
    "huge": [[9e15, 1], [2, 8e15]],
    "tiny": [[1e-6, 2e-6], [0, 1e-6]],
    "negative": [[5, 3.5, 0], [-2, -8, -0.0001]],
    "all negative": [[-1, -2], [-3, -4]],
    "a year": [[float(n % 7) for n in range(366)], [1.0] * 366],
}


def chart(kind: str, values: list[list[float | None]], unit: str = "usd", title: str = "Money") -> Chart:
    labels = tuple(f"Nov {n}" for n in range(len(values[0])))
    return Chart(title, unit, labels, tuple(Series(f"s{n}", tuple(one)) for n, one in enumerate(values)), kind)  # type: ignore[arg-type]


def parsed(drawing: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart_svg(drawing))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_drawn_is_whole_and_stays_within_its_box(kind: str, shape: str) -> None:
    values = SHAPES[shape]
    if kind == "ranks":
        values = [[abs(value) if value else value for value in one] for one in values]
    svg = parsed(chart(kind, values))
    wide, high = map(float, svg.attrib["viewBox"].split()[2:])
    assert wide == WIDTH
    for rect in svg.iter("rect"):
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= -0.2 and x + width <= wide + 0.2 and width >= 0
        assert y >= -0.2 and y + height <= high + 1.2 and height >= 0
    for path in svg.iter("path"):
        assert all(0 <= float(number) <= WIDTH for number in re.findall(r"[\d.]+", path.attrib["d"]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_is_named_and_tells_each_value_to_whoever_points_at_it(kind: str) -> None:
    svg = parsed(chart(kind, [[1, 2], [3, None]]))
    named = [svg.find(f"*[@id='{id}']") for id in svg.attrib["aria-labelledby"].split()]
    assert svg.attrib["role"] == "img"
    assert [found is not None and found.tag for found in named] == ["title", "desc"]
    tips = [found.text for found in svg.findall("rect[@class='tip']/title")]
    assert tips == ["Nov 0: s0 $1.00, s1 $3.00", "Nov 1: s0 $2.00, s1 –"]


def test_nothing_that_a_name_holds_is_markup() -> None:
    evil = '"><script>alert(1)</script>'
    one = Chart(evil, "count", (evil,), (Series(evil, (1,)),), "ranks")
    markup = chart_svg(one)
    assert "<script" not in markup
    assert " style=" not in markup
    ElementTree.fromstring(markup)


def test_bars_are_stacked_upwards_and_what_is_below_zero_downwards() -> None:
    svg = parsed(chart("bars", [[2], [3], [-1]]))
    bars = {rect.attrib["class"]: rect.attrib for rect in svg.iter("rect") if rect.attrib["class"] != "tip"}
    span = {name: (float(bar["y"]), float(bar["y"]) + float(bar["height"])) for name, bar in bars.items()}
    zero = next(float(line.attrib["y1"]) for line in svg.iter("line") if line.attrib["class"] == "zero")
    assert span["s0"][1] == pytest.approx(zero, abs=0.2)
    assert span["s1"][1] == pytest.approx(span["s0"][0], abs=0.2)
    assert span["s2"][0] == pytest.approx(zero, abs=0.2)


def test_the_longest_number_beside_an_axis_has_room() -> None:
    axis = [one for one in parsed(chart("lines", [[97, 109], [98, 108]], "ms")).iter("text") if one.get("y") != "189"]
    assert max(len(one.text or "") for one in axis) == len("102.5 ms")
    assert all(float(one.get("x", "0")) >= 7.5 * len(one.text or "") for one in axis)


def test_a_line_breaks_where_nothing_is_known_and_a_point_alone_is_marked() -> None:
    svg = parsed(chart("lines", [[1, 2, None, 4, None, *[5.0] * 40]]))
    (path,) = svg.iter("path")
    assert path.attrib["d"].count("M") == 3
    assert len(list(svg.iter("circle"))) == 43


def test_a_chart_has_at_most_three_series_and_each_as_many_values_as_there_are_labels() -> None:
    with pytest.raises(AssertionError):
        chart("bars", [[1]] * 4)
    with pytest.raises(AssertionError):
        Chart("x", "count", ("a", "b"), (Series("s", (1,)),))


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_chart_without_any_value_is_empty(kind: str) -> None:
    assert chart(kind, [[0, None]]).is_empty
    assert chart(kind, [[]]).is_empty
    assert not chart(kind, [[0, -1]]).is_empty


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0, [0, 0.2]),
        (0, 7, [0, 2, 4, 6, 8]),
        (0, 1_234_567, [0, 250_000, 500_000, 750_000, 1_000_000, 1_250_000]),
        (-3, 11, [-5, 0, 5, 10, 15]),
        (81, 97, [80, 85, 90, 95, 100]),
        (5, 5, [5, 6]),
    ],
)
def test_an_axis_has_a_few_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


@pytest.mark.parametrize("high", [1e-9, 0.03, 1, 99.9, 3e7, 9e15])
def test_the_numbers_of_an_axis_hold_all_values_at_even_distances(high: float) -> None:
    found = ticks(0, high)
    assert found[0] == 0 and found[-1] >= high and 2 <= len(found) <= 7
    assert len({round((after - before) / found[1], 6) for before, after in pairwise(found)}) == 1


@pytest.mark.parametrize(
    ("value", "unit", "whole", "brief"),
    [
        (1_500, "tokens", "1,500", "1.5k"),
        (2.5e9, "tokens", "2,500,000,000", "2.5B"),
        (-1.5, "usd", "−$1.50", "−$1.5"),
        (0.0123, "usd", "$0.0123", "$0.0123"),
        (0, "usd", "$0.00", "$0"),
        (87.25, "percent", "87.2 %", "87.25 %"),
        (950, "ms", "950 ms", "950 ms"),
        (61_400, "ms", "61.4 s", "61.4 s"),
    ],
)
def test_values_read_well(value: float, unit: str, whole: str, brief: str) -> None:
    assert (labelled(value, unit), short(value, unit)) == (whole, brief)  # type: ignore[arg-type]


def test_the_table_has_the_same_figures() -> None:
    assert chart("bars", [[1, None], [-2, 0]]).rows == [("Nov 0", ["$1.00", "−$2.00"]), ("Nov 1", ["–", "$0.00"])]
