"""Reads OpenDocument's texts, sheets and slides from their XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from conversations.messages.formats.parts import Parts, Read, attribute, joined_cells, local, parse_xml

LEFT_OUT = frozenset(("tracked-changes", "forms", "sequence-decls", "variable-decls", "settings", "note-citation"))
"""Elements without shown text; `tracked-changes` has the deleted text."""
MOST_REPEATED = 1_000
"""The most equal cells and rows that are written for a single one with a number of repetitions."""


def read(data: bytes) -> Read:
    with ZipFile(BytesIO(data)) as file:
        root = parse_xml(file.read("content.xml"))
    names = {local(element) for element in root.iter("{*}presentation", "{*}spreadsheet")}
    if not names:
        return _blocks(root), None
    pages = sum(1 for _ in root.iter("{*}table" if "spreadsheet" in names else "{*}page"))
    return (_sheets(root) if "spreadsheet" in names else _slides(root)), pages


def _sheets(root: Any) -> Parts:
    for sheet in root.iter("{*}table"):
        yield f"\n[Sheet {attribute(sheet, 'name')}]"
        yield from _rows(sheet)


def _slides(root: Any) -> Parts:
    for number, slide in enumerate(root.iter("{*}page"), start=1):
        yield f"\n[Slide {number}]"
        yield from _blocks(slide)


def _blocks(element: Any, *, depth: int = 0) -> Parts:
    """The headings, paragraphs, lists and tables below an element; `depth` is that of a list."""
    for child in element:
        name = local(child)
        if name == "h":
            level = attribute(child, "outline-level")
            yield "#" * min(int(level) if level.isdecimal() else 1, 6) + " " + _inline(child)
        elif name == "p":
            yield _inline(child)
        elif name in ("list-item", "list-header"):
            yield from _item(child, depth)
        elif name == "table":
            yield ""
            yield from _rows(child)
            yield ""
        elif name == "notes":
            yield f"Notes: {' '.join(_blocks(child)).strip()}"
        elif name not in LEFT_OUT:
            yield from _blocks(child, depth=depth + 1 if name == "list" else depth)


def _item(element: Any, depth: int) -> Parts:
    """The paragraphs of an item, the first one after a mark."""
    mark = "- "
    for part in _blocks(element, depth=depth):
        is_inner = part.lstrip().startswith("- ")
        yield part if is_inner else "  " * (min(depth, 9) - 1) + mark + part
        mark = "  " if not is_inner else mark


def _inline(element: Any) -> str:
    return "".join(_texts(element))


def _texts(element: Any) -> Iterator[str]:
    """The texts of a paragraph in order, with spaces, tabs and breaks, which are elements."""
    yield element.text or ""
    for child in element:
        name = local(child)
        if name == "s":
            number = attribute(child, "c")
            yield " " * (min(int(number), 100) if number.isdecimal() else 1)
        elif name == "tab":
            yield "\t"
        elif name == "line-break":
            yield "\n"
        elif name in ("note-body", "annotation"):
            yield f" [{'note' if name == 'note-body' else 'comment'}: {' '.join(_blocks(child))}]"
        elif name in ("text-box", "table"):
            yield "\n".join(("", *_blocks(child), ""))
        elif name not in LEFT_OUT:
            yield from _texts(child)
        yield child.tail or ""


def _rows(table: Any) -> Parts:
    """The rows of a table with text in them, also those in groups and below a head."""
    for child in table:
        name = local(child)
        if name == "table-row":
            if row := joined_cells(_cells(child)).rstrip(" |"):
                yield from [row] * _repeated(child, "number-rows-repeated")
        elif name in ("table-rows", "table-header-rows", "table-row-group"):
            yield from _rows(child)


def _cells(row: Any) -> Iterable[str]:
    for cell in row:
        if local(cell) in ("table-cell", "covered-table-cell"):
            yield from [" ".join(_blocks(cell))] * _repeated(cell, "number-columns-repeated")


def _repeated(element: Any, name: str) -> int:
    number = attribute(element, name)
    return min(int(number), MOST_REPEATED) if number.isdecimal() else 1
