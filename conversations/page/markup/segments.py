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


def split(content: str, pastes: Iterable[PasteSegment]) -> list[Segment]:
    """The content as segments, in order. A paste that overlaps an earlier one or exceeds the content is ignored."""
    segments: list[Segment] = []
    end = 0
    for paste in sorted(pastes, key=lambda paste: paste.start):
        stop = paste.start + paste.length
        if paste.length < 1 or paste.start < end or stop > len(content):
            continue
        segments += [Segment(content[end : paste.start]), Segment(content[paste.start : stop], paste.label)]
        end = stop
    segments.append(Segment(content[end:]))
    return [segment for segment in segments if segment.text]
