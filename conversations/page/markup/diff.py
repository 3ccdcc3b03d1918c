"""Compares two texts line by line, into lines that are the same, added or removed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

LIMIT = 2_000
"""The most lines of each text that are compared, and the most lines of a result."""

MAX_CELLS = 400_000
"""The most comparisons of two lines. Sections beyond them are removed and added as a whole."""

Kind = Literal["same", "added", "removed"]
Pair = tuple[int, int]
"""The index of a line in the old text and in the new text."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """The lines of a comparison; `cut` says that a text or the result exceeds LIMIT lines."""

    lines: tuple[DiffLine, ...]
    cut: bool = False

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


def diff(before: str, after: str) -> Diff:
    """The changes from `before` to `after`; removed lines precede the lines that replace them."""
    old, new = before.splitlines(), after.splitlines()
    lines = tuple(_diff_lines(old[:LIMIT], new[:LIMIT]))
    return Diff(lines[:LIMIT], cut=max(len(old), len(new), len(lines)) > LIMIT)


def _diff_lines(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    at = new_at = 0
    for start, new_start in [*_common_lines(old, new), (len(old), len(new))]:
        yield from (DiffLine("removed", text) for text in old[at:start])
        yield from (DiffLine("added", text) for text in new[new_at:new_start])
        yield from (DiffLine("same", text) for text in old[start : start + 1])
        at, new_at = start + 1, new_start + 1


def _common_lines(old: list[str], new: list[str]) -> list[Pair]:
    """The common lines, in order: at both ends, lines unique in each text, and between those the longest common
    subsequence, as far as MAX_CELLS allows."""
    head = _common_prefix_length(zip(old, new, strict=False))
    room = min(len(old), len(new)) - head
    tail = min(_common_prefix_length(zip(reversed(old), reversed(new), strict=False)), room)
    end, new_end = len(old) - tail, len(new) - tail
    pairs = [(at, at) for at in range(head)]
    cells, (start, new_start) = MAX_CELLS, (head, head)
    for at, new_at in [*_anchors(old[head:end], new[head:new_end], head), (end, new_end)]:
        cells -= (at - start) * (new_at - new_start)
        if cells >= 0:
            pairs += _longest_common(old[start:at], new[new_start:new_at], start, new_start)
        if at < end:
            pairs.append((at, new_at))
        start, new_start = at + 1, new_at + 1
    return pairs + [(end + at, new_end + at) for at in range(tail)]


def _common_prefix_length(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _anchors(old: list[str], new: list[str], offset: int) -> list[Pair]:
    """Lines that occur once in each text: the longest series that has the same order in both."""
    times, new_times = Counter(old), Counter(new)
    places = {text: at for at, text in enumerate(new) if new_times[text] == 1}
    unique = [(at, places[text]) for at, text in enumerate(old) if times[text] == 1 and text in places]
    ends: list[int] = []
    """For each length, the smallest index in `new` that ends a series of this length."""
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


def _longest_common(old: list[str], new: list[str], offset: int, new_offset: int) -> list[Pair]:
    """The longest common subsequence of two lists of lines, by dynamic programming."""
    rows = [[0] * (len(new) + 1)]
    for text in reversed(old):
        row, below = [0] * (len(new) + 1), rows[-1]
        for at in range(len(new) - 1, -1, -1):
            row[at] = below[at + 1] + 1 if text == new[at] else max(below[at], row[at + 1])
        rows.append(row)
    rows.reverse()
    pairs, at, new_at = [], 0, 0
    while at < len(old) and new_at < len(new):
        if old[at] == new[new_at]:
            pairs.append((at + offset, new_at + new_offset))
            at, new_at = at + 1, new_at + 1
        elif rows[at + 1][new_at] >= rows[at][new_at + 1]:
            at += 1
        else:
            new_at += 1
    return pairs
