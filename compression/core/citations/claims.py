"""Splits a summary into its statements: the sentences of its lines, without headings and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from compression.core.sections import KEPT_FACTS
from compression.core.text.sentences import sentence_ends

_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"[ \t>]{0,12}(?:[-*+] )?(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_LEAD = re.compile(r"(?:[ \t]*+(?:[>*+•·–—-]|\d{1,3}[.)]|\|)(?=\s|$))*+[ \t]*+")
"""Matches the signs before a line's text: of quotations, list items and table rows."""
_TAIL = " \t|\\"
"""Signs after a line's text: of table rows and line breaks."""
_WHOLE = re.compile(r"`[^`\n]{1,120}`|\[[^\]\n]{0,120}\]\([^)\n]{0,120}\)")
"""Matches code and links, within which no statement ends."""
_SIGNS = re.compile(r"\*\*|`")
_LABEL = r"(?:[^\W\d_][\w /&-]{0,40}:\s*)?"
_EMPTY_SECTION = re.compile(
    rf"\W*+{_LABEL}\W*+(?:none|nothing|nil|n/?a|not applicable|unknown|tbd|no(?= )|not any)"
    r"(?: (?:yet|so far|at all|at present|currently|known|open|pending|new|further|else|were|was|are|is|have|has|been|"
    r"mentioned|stated|given|noted|recorded|specified|discussed|made|decided|changed|identified|provided|remaining|"
    r"files?|facts?|decisions?|goals?|tasks?|questions?|steps?|items?|artifacts?|constraints?|preferences?))*+\W*+",
    re.IGNORECASE,
)
"""Matches a statement that its section is empty ("None yet.", "No open questions"), with or without a label."""


class Claim(NamedTuple):
    """A statement of a summary: its place in the text, and its words without Markdown's signs.

    `text` is "" if the statement only says that there is nothing. `is_quoted`: it is under `## Kept facts`, where the
    sentences are quotations.
    """

    start: int
    end: int
    text: str
    is_quoted: bool


def claims_in(summary: str) -> list[Claim]:
    """The statements of a summary without marks, in order; the time is linear in the text."""
    return list(_claims(summary))


def _claims(summary: str) -> Iterator[Claim]:
    fence, heading = "", ""
    for line in _LINE.finditer(summary):
        text = line.group()
        if found := _FENCE.match(text):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        elif fence:
            continue
        elif _HEADING.match(text):
            heading = text.strip()
        else:
            for start, end in _sentences(text):
                yield _claim(summary, line.start() + start, line.start() + end, heading)


def _sentences(line: str) -> Iterator[tuple[int, int]]:
    """The places of the sentences of a line, without its marks and blanks; only those with a letter or digit."""
    lead = _LEAD.match(line)
    start, stop = lead.end() if lead else 0, len(line.rstrip(_TAIL))
    whole = [found.span() for found in _WHOLE.finditer(line, start, stop)]
    whole.reverse()
    for mark, end in sentence_ends(line, start, stop, semicolons=True):
        while whole and whole[-1][1] <= mark:
            whole.pop()
        if whole and whole[-1][0] < mark:
            continue
        yield from _trimmed(line, start, end)
        start = end
    yield from _trimmed(line, start, stop)


def _trimmed(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    text = line[start:end]
    if any(map(str.isalnum, text)):
        yield start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _claim(summary: str, start: int, end: int, heading: str) -> Claim:
    words = summary[start:end]
    text = "" if _EMPTY_SECTION.fullmatch(words) else _SIGNS.sub("", words)
    return Claim(start, end, text, heading == KEPT_FACTS)
