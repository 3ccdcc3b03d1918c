"""Recognises and draws SVG files. Nothing in them is run or fetched: links to anything outside the file are removed."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _

from conversations.errors import Invalid

MAX_BYTES = 1_000_000
SIDES = 512, 1_600
"""The least and the most pixels of the longer side of a drawn SVG."""
HEAD_BYTES = 4_000
_START = re.compile(
    rb"(?:\xef\xbb\xbf)?+\s*+(?:<\?xml[^>]*+>\s*+)?+(?:<!--(?:[^-]|-(?!->))*+-->\s*+)*+(?:<!DOCTYPE[^>\[]*+>\s*+)?+<svg[\s>]"
)
_NUMBER = re.compile(r"\s*(\d{1,9}(?:\.\d{0,6})?)\s*(?:px|pt|mm|cm|in|em)?\s*")
_REMOVED = ("script", "foreignObject", "iframe", "audio", "video", "style")
_INNER = re.compile(r"\s*(?:#|data:image/(?:png|jpeg|gif|webp);base64,)")


def is_svg(data: bytes) -> bool:
    """Whether a file is an SVG, by its first element."""
    return bool(_START.match(data[:HEAD_BYTES]))


def drawn(data: bytes) -> bytes:
    """Draw an SVG as a PNG on white, for the worker of images. Raises Invalid for one that cannot be drawn."""
    import resvg_py
    from lxml import etree

    if len(data) > MAX_BYTES:
        raise Invalid(
            _("file: an SVG has at most %(most)s MB.") % {"most": MAX_BYTES // 1_000_000}, field="file", limit=MAX_BYTES
        )
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
        _clean(root)
        text = etree.tostring(root, encoding="unicode")
        width, height = _size(root)
        return bytes(resvg_py.svg_to_bytes(svg_string=text, background="#ffffff", width=width, height=height))
    except MemoryError:
        raise
    except Exception:  # both libraries raise several kinds of exceptions for damaged files
        raise Invalid(_("file: the SVG is damaged, or has nothing to draw."), field="file") from None


def _clean(root: Any) -> None:
    """Remove what is run, and links that lead out of the file."""
    for element in list(root.iter()):
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if not name or name in _REMOVED:
            if element.getparent() is not None:
                element.getparent().remove(element)
            continue
        for key, value in list(element.attrib.items()):
            is_link = key.rpartition("}")[2] in ("href", "src")
            if key.lower().startswith("on") or (is_link and not _INNER.match(value)):
                del element.attrib[key]


def _size(root: Any) -> tuple[int, int | None]:
    """(width, height) in pixels, in the file's own proportions; the height is None if the file has none."""
    box = (root.get("viewBox") or "").replace(",", " ").split()
    sides = [_number(root.get(side)) for side in ("width", "height")]
    if not all(sides) and len(box) == 4:
        sides = [_number(side) for side in box[2:]]
    if not all(sides):
        return SIDES[0], None
    longest = max(sides)
    scale = min(max(longest, SIDES[0]), SIDES[1]) / longest
    width, height = (max(1, round(side * scale)) for side in sides)
    return width, height


def _number(text: str | None) -> float:
    found = _NUMBER.fullmatch(text or "")
    return float(found[1]) if found else 0.0
