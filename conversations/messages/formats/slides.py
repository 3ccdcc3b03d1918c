"""Reads PowerPoint's slides, with tables, charts, diagrams and notes."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

from conversations.messages.formats.parts import Parts, Read, joined_cells, parse_xml

DIAGRAM = "/diagramData"
"""The end of the relationship's type for the text of a SmartArt diagram."""


def read(data: bytes) -> Read:
    from pptx import Presentation

    slides = Presentation(BytesIO(data)).slides
    return _parts(slides), len(slides)


def _parts(slides: Iterable[Any]) -> Parts:
    for number, slide in enumerate(slides, start=1):
        yield f"[Slide {number}]"
        yield from _shapes(slide.shapes)
        yield from _diagrams(slide.part)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            yield f"Notes: {slide.notes_slide.notes_text_frame.text}"
        yield ""


def _shapes(shapes: Iterable[Any]) -> Parts:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from (joined_cells(cell.text for cell in row.cells) for row in shape.table.rows)
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)
        elif hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)


def _chart(chart: Any) -> Parts:
    """A chart as a table: a row for each category, a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield f"[Chart: {chart.chart_title.text_frame.text}]"
    plot = next(iter(chart.plots), None)
    if plot is None:
        return
    series = list(plot.series)
    yield joined_cells(["", *(str(one.name) for one in series)])
    columns = [list(one.values) for one in series]
    for at, category in enumerate(plot.categories):
        values = (column[at] if at < len(column) and column[at] is not None else "" for column in columns)
        yield joined_cells([str(category), *(f"{value:.15g}" if value != "" else "" for value in values)]).rstrip(" |")


def _diagrams(part: Any) -> Parts:
    for relation in part.rels.values():
        if relation.reltype.endswith(DIAGRAM) and not relation.is_external:
            for paragraph in parse_xml(relation.target_part.blob).iter("{*}p"):
                yield "".join(text for text in paragraph.itertext("{*}t"))
