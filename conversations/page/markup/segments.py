"""Splits a message's content at its pasted texts, so that a page can show them collapsed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PasteSegment:
    """A pasted text: `length` characters of the content from index `start` on, shown as `label` when collapsed."""

    label: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the content; typed text has no label."""

    text: str
    label: str = ""


def split(content: str, insets: Iterable[PasteSegment]) -> list[Segment]:
    """The content as segments, in order. Insets that overlap an earlier inset or exceed the content are ignored."""
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
