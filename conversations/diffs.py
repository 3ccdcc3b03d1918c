"""Two texts line by line: what is the same, what was added, what was removed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

LIMIT = 2_000
"""Lines of each text that are compared, and of the difference that are given."""

MAX_CELLS = 400_000
"""Comparisons of a line of one text with one of the other; what is beyond them is removed and added as a whole."""

Kind = Literal["same", "added", "removed"]
Pair = tuple[int, int]
"""Places of a line in the old text and in the new one."""


@dataclass(frozen=True, slots=True)
class Line:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """`cut` says that there is more than LIMIT lines of it."""

    lines: tuple[Line, ...]
    cut: bool = False

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


def diff(before: str, after: str) -> Diff:
    """How `before` became `after`; what was removed stands before what took its place."""
    old, new = before.splitlines(), after.splitlines()
    lines = tuple(_lines(old[:LIMIT], new[:LIMIT]))
    return Diff(lines[:LIMIT], cut=max(len(old), len(new), len(lines)) > LIMIT)


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    at = new_at = 0
    for start, new_start in [*_pairs(old, new), (len(old), len(new))]:
        yield from (Line("removed", text) for text in old[at:start])
        yield from (Line("added", text) for text in new[new_at:new_start])
        yield from (Line("same", text) for text in old[start : start + 1])
        at, new_at = start + 1, new_start + 1


def _pairs(old: list[str], new: list[str]) -> list[Pair]:
    """The lines that are the same, in order: those at both ends, those that occur once in each text, and between them
    as many as can be, where there are not too many to be compared."""
    head = _common(zip(old, new, strict=False))
    room = min(len(old), len(new)) - head
    tail = min(_common(zip(reversed(old), reversed(new), strict=False)), room)
    end, new_end = len(old) - tail, len(new) - tail
    found = [(at, at) for at in range(head)]
    cells, (start, new_start) = MAX_CELLS, (head, head)
    for at, new_at in [*_anchors(old[head:end], new[head:new_end], head), (end, new_end)]:
        cells -= (at - start) * (new_at - new_start)
        if cells >= 0:
            found += _longest(old[start:at], new[new_start:new_at], start, new_start)
        if at < end:
            found.append((at, new_at))
        start, new_start = at + 1, new_at + 1
    return found + [(end + at, new_end + at) for at in range(tail)]


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _anchors(old: list[str], new: list[str], offset: int) -> list[Pair]:
    """Lines that occur once in each, as many as stand in the same order in both."""
    times, new_times = Counter(old), Counter(new)
    places = {text: at for at, text in enumerate(new) if new_times[text] == 1}
    unique = [(at, places[text]) for at, text in enumerate(old) if times[text] == 1 and text in places]
    ends: list[int] = []
    """Of the best run of each length so far: the place in `new` that it ends with."""
    best: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(unique):
        length = bisect_left(ends, place)
        before.append(best[length - 1] if length else None)
        ends[length : length + 1], best[length : length + 1] = [place], [number]
    run, at = [], best[-1] if best else None
    while at is not None:
        run.append((unique[at][0] + offset, unique[at][1] + offset))
        at = before[at]
    return run[::-1]


def _longest(old: list[str], new: list[str], offset: int, new_offset: int) -> list[Pair]:
    """The longest run of lines that are in both, by comparing each with each."""
    rows = [[0] * (len(new) + 1)]
    for text in reversed(old):
        row, below = [0] * (len(new) + 1), rows[-1]
        for at in range(len(new) - 1, -1, -1):
            row[at] = below[at + 1] + 1 if text == new[at] else max(below[at], row[at + 1])
        rows.append(row)
    rows.reverse()
    found, at, new_at = [], 0, 0
    while at < len(old) and new_at < len(new):
        if old[at] == new[new_at]:
            found.append((at + offset, new_at + new_offset))
            at, new_at = at + 1, new_at + 1
        elif rows[at + 1][new_at] >= rows[at][new_at + 1]:
            at += 1
        else:
            new_at += 1
    return found
