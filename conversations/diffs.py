"""Two texts line by line: what is the same, what was added, what was removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

LIMIT = 2_000
"""Lines of each text that are compared, and of the difference that are given."""

Kind = Literal["same", "added", "removed"]


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
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Line("same", text) for text in old[start:end])
            continue
        yield from (Line("removed", text) for text in old[start:end])
        yield from (Line("added", text) for text in new[new_start:new_end])
