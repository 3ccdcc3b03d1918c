"""A content cut where longer texts were put into it, so that these can be shown folded up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inset:
    """`length` characters of a content from the `start`-th on, for which a `label` may stand."""

    label: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a content; what was typed has no label."""

    text: str
    label: str = ""


def split(content: str, insets: Iterable[Inset]) -> list[Segment]:
    """All of the content, in order. An inset that is not wholly in it, or begins within an earlier one, is left out."""
    segments: list[Segment] = []
    end = 0
    for inset in sorted(insets, key=lambda inset: inset.start):
        stop = inset.start + inset.length
        if inset.length < 1 or inset.start < end or stop > len(content):
            continue
        segments += [Segment(content[end : inset.start]), Segment(content[inset.start : stop], inset.label)]
        end = stop
    segments.append(Segment(content[end:]))
    return [segment for segment in segments if segment.text]
