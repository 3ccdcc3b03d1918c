"""Reads Word's documents from their XML: also what stands in content controls, text boxes and tracked insertions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from posixpath import basename, dirname, join, normpath
from typing import Any
from zipfile import ZipFile

from conversations.messages.formats.parts import Parts, Read, attribute, joined_cells, local, parse_xml

MAIN = "word/document.xml"
LEFT_OUT = frozenset(
    ("pPr", "rPr", "sdtPr", "sectPr", "tblPr", "trPr", "tcPr", "tblGrid", "instrText", "del", "delText", "moveFrom")
)
"""Elements without shown text: properties, codes of fields, and deleted text."""
ALTERNATIVES = "AlternateContent"
"""The same content in several forms, the best one first."""
SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
NOTES = {"footnote": "^", "endnote": "^e"}
_HEADING = re.compile(r"heading ([1-9])|(title)", re.IGNORECASE)


def read(data: bytes) -> Read:
    """The text of a document, with its footnotes and comments below it; headers and footers are left out."""
    with ZipFile(BytesIO(data)) as file:
        main = _target(file, "_rels/.rels", "/officeDocument") or MAIN
        related = f"{dirname(main)}/_rels/{basename(main)}.rels"

        def part(kind: str) -> Any:
            path = _target(file, related, f"/{kind}", within=dirname(main))
            return parse_xml(file.read(path)) if path else ()

        body = parse_xml(file.read(main))
        document = _Document(_styles(part("styles")))
        notes = [(kind, part(f"{kind}s")) for kind in NOTES]
        comments = part("comments")
    return _parts(document, body, notes, comments), None


def _parts(document: _Document, body: Any, notes: list[tuple[str, Any]], comments: Any) -> Parts:
    yield from document.blocks(body)
    for kind, root in notes:
        for note in root:
            if local(note) == kind and not attribute(note, "type"):  # others are separators
                yield f"[{NOTES[kind]}{attribute(note, 'id')}]: {document.flat(note)}"
    for comment in comments:
        yield f"[comment {attribute(comment, 'id')}] {attribute(comment, 'author')}: {document.flat(comment)}"


@dataclass(frozen=True, slots=True)
class _Style:
    """A style of paragraphs: its level as a heading, and whether its paragraphs are items of a list."""

    level: int = 0
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class _Document:
    styles: dict[str, _Style] = field(default_factory=dict)

    def blocks(self, element: Any) -> Parts:
        """The paragraphs and tables below an element, each as lines of text."""
        for child in element:
            name = local(child)
            if name == "p":
                yield self._mark(child) + self._inline(child).strip("\n")
            elif name == "tbl":
                yield from (self._row(row) for row in _below(child, "tr"))
                yield ""
            elif name not in LEFT_OUT:
                yield from self.blocks(child[:1] if name == ALTERNATIVES else child)

    def flat(self, element: Any) -> str:
        """The paragraphs below an element in one line."""
        return " ".join(" ".join(self.blocks(element)).split())

    def _row(self, row: Any) -> str:
        return joined_cells(self.flat(cell) for cell in _below(row, "tc") if not _continues(cell))

    def _mark(self, paragraph: Any) -> str:
        """The Markdown before a paragraph: of a heading, or of an item of a list by its depth."""
        properties = _first(paragraph, "pPr")
        style = self.styles.get(attribute(_first(properties, "pStyle"), "val"), _Style())
        outline = attribute(_first(properties, "outlineLvl"), "val")
        level = int(outline) + 1 if outline.isdecimal() and int(outline) < 9 else style.level
        if level:
            return "#" * min(level, 6) + " "
        numbering = _first(properties, "numPr")
        if not style.is_list and numbering is None:
            return ""
        depth = attribute(_first(numbering, "ilvl"), "val")
        return "  " * (min(int(depth), 8) if depth.isdecimal() else 0) + "- "

    def _inline(self, element: Any) -> str:
        return "".join(self._runs(element))

    def _runs(self, element: Any) -> Iterator[str]:
        """The texts below an element of a paragraph in order."""
        for child in element:
            name = local(child)
            if name == "t":
                yield child.text or ""
            elif name in SIGNS:
                yield SIGNS[name]
            elif name in ("footnoteReference", "endnoteReference"):
                yield f"[{NOTES[name.removesuffix('Reference')]}{attribute(child, 'id')}]"
            elif name == "commentReference":
                yield f"[comment {attribute(child, 'id')}]"
            elif name == "txbxContent":
                yield "\n".join(("", *self.blocks(child), ""))
            elif name == ALTERNATIVES:
                yield from self._runs(child[:1])
            elif name not in LEFT_OUT:
                yield from self._runs(child)


def _styles(root: Any) -> dict[str, _Style]:
    return {attribute(style, "styleId"): _style(style) for style in root if local(style) == "style"}


def _style(element: Any) -> _Style:
    name = attribute(_first(element, "name"), "val")
    heading = _HEADING.fullmatch(name)
    is_list = _first(_first(element, "pPr"), "numPr") is not None or name.lower().startswith("list")
    return _Style(int(heading[1] or 1), is_list=False) if heading else _Style(0, is_list)


def _target(file: ZipFile, relations: str, kind: str, *, within: str = "") -> str:
    """The path of the part that `relations` names for a kind; "" without one."""
    if relations not in file.namelist():
        return ""
    for relation in parse_xml(file.read(relations)):
        if (relation.get("Type") or "").endswith(kind) and relation.get("TargetMode") != "External":
            path = normpath(join("/", within, relation.get("Target") or "")).lstrip("/")
            return path if path in file.namelist() else ""
    return ""


def _below(element: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, also within content controls, but not those of inner tables."""
    for child in element:
        if local(child) == name:
            yield child
        elif local(child) not in ("tbl", "tc", *LEFT_OUT):
            yield from _below(child, name)


def _continues(cell: Any) -> bool:
    """Whether a cell is the rest of the merged one above it."""
    merge = _first(_first(cell, "tcPr"), "vMerge")
    return merge is not None and attribute(merge, "val") != "restart" and not any(cell.itertext("{*}t"))


def _first(element: Any, name: str) -> Any:
    """The first child of a name; None without one, or without an element."""
    return next((child for child in element if local(child) == name), None) if element is not None else None
