"""Marks statements that no message supports in a summary's text, and takes marks and statements out again."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from compression.core.citations.claims import Claim

MARK = "(not found in the messages)"
"""Stands after an unsupported statement in the text that the model sees."""
_MARKS = re.compile(rf" ?{re.escape(MARK)}")
MAX_BLANKS = 8
"""The most blanks that go with a statement that is left out."""
_CLOSE = re.compile(r"[.!?…;。！？；｡]{0,9}[*_]{0,4}\Z")
_BLANK_LINE = re.compile(r"[ \t>*+•·–—|-]*+(?:\d{1,3}[.)][ \t]*+)?+(?:\*\*)?+(?:[^\W\d_][\w /&-]{0,40}:)?+[ \t*|]*+")
"""Matches a line that has nothing but a list item's sign and a label."""


def without_marks(summary: str) -> str:
    """The summary without marks."""
    return _MARKS.sub("", summary)


def with_marks(summary: str, claims: Sequence[Claim], chosen: Collection[int]) -> str:
    """The summary, which has no marks, with one at the end of each chosen statement, before its full stop."""
    parts: list[str] = []
    at = 0
    for number in sorted(chosen):
        claim = claims[number]
        close = _CLOSE.search(summary, max(claim.start, claim.end - 13), claim.end)
        place = close.start() if close else claim.end
        parts += [summary[at:place], " ", MARK]
        at = place
    return "".join([*parts, summary[at:]])


def without_statements(summary: str, claims: Sequence[Claim], chosen: Collection[int]) -> str:
    """The summary without the chosen statements; lines that are empty then go too."""
    touched: set[int] = set()
    parts: list[str] = []
    at = lines = 0
    for number in sorted(chosen):
        claim = claims[number]
        before = summary[at : claim.start]
        parts.append(before)
        lines += before.count("\n")
        touched.add(lines)
        at = claim.end
        if not before or before[-1].isspace():
            at += len(summary[at : at + MAX_BLANKS]) - len(summary[at : at + MAX_BLANKS].lstrip(" "))
    text = "".join([*parts, summary[at:]])
    kept = [
        line.rstrip() if number in touched else line
        for number, line in enumerate(text.split("\n"))
        if not (number in touched and _BLANK_LINE.fullmatch(line))
    ]
    return "\n".join(kept)
