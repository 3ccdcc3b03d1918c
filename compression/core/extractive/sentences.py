"""Cleans text and splits it into sentences of bounded length, in any script."""

from __future__ import annotations

import re

MAX_SENTENCE_CHARS = 320
"""A longer sentence is cut at a space, or anywhere if it has none."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_MARKS = re.compile(r"^(?:(?:[#>*•·–-]{1,6}|\d{1,2}[.)])\s+)+#*|^#+\s*|(?<!\S)#{2,6}(?!\S)")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|vs|etc|e\.g|i\.e|approx|No|Fig|cf)|\b[A-Z])\.$")
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+|[。！？｡]+[」』”’）]*|;\s+")


def clean(text: str) -> str:
    """`text` without control characters, invisible marks and lone surrogates; line breaks stay."""
    return _UNPRINTABLE.sub("", text)


def one_line(text: str) -> str:
    """`text` on one line, without the Markdown that would make it a heading, a quotation or a list item."""
    return " ".join(_MARKS.sub(" ", " ".join(text.split())).split())


def sentences(line: str) -> list[str]:
    """The sentences of one line of prose, none longer than MAX_SENTENCE_CHARS."""
    parts: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if not _ABBREVIATION.search(line, max(start, end.start() - 8), end.start() + 1):
            parts += split_long(line[start : end.end()].strip())
            start = end.end()
    return parts + split_long(line[start:].strip())


def split_long(text: str) -> list[str]:
    """`text` in parts of at most MAX_SENTENCE_CHARS characters."""
    parts: list[str] = []
    while len(text) > MAX_SENTENCE_CHARS:
        cut = text.rfind(" ", MAX_SENTENCE_CHARS // 2, MAX_SENTENCE_CHARS)
        cut = MAX_SENTENCE_CHARS if cut < 0 else cut
        parts.append(text[:cut])
        text = text[cut:].lstrip()
    return [*parts, text] if text else parts
