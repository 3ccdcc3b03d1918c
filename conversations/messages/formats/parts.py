"""The parts of a document's text, and what several readers of documents share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Parts = Iterator[str]
"""Texts, each on lines of its own."""
Read = tuple[Parts, int | None]
"""The parts of a document, and the number of its pages, slides or sheets; None if it has none."""


def joined_cells(cells: Iterable[str]) -> str:
    """A row of a table as one line."""
    return " | ".join(" ".join(cell.split()) for cell in cells)


def parse_xml(data: bytes) -> Any:
    """The root of an XML file, without entities, comments and anything from the network."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(data, parser)


def local(element: Any) -> str:
    """An element's name without its namespace; "" for an entity that was not read."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute by its name without its namespace; "" without one, or without an element."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")
