"""What is looked for in texts: the words of a query, where they occur, and what stands around them."""

from __future__ import annotations

import re

from django.db.models import Q

from compression.core.extractive.stemming import stem

MARKS = re.compile(r"```\w*|`|\*\*(?=\S)|(?<=\S)\*\*|^#{1,6} ", re.MULTILINE)
"""What is of no use where a text is shown in a line."""

SNIPPET = 120
BEFORE = 40
"""Characters of a snippet, and how many of them at most stand before the first word that was found."""

PLAIN = re.compile(r"[^\W_]+\Z")
SHORTEST_STEM = 4
TERM = re.compile(r'"([^"]+)"?|(\S+)')


def terms_of(query: str) -> list[str]:
    """The words of a query, and its phrases in quotes; a quote that was not closed yet goes on to the end."""
    found = [" ".join((phrase or word).split()) for phrase, word in TERM.findall(query)]
    return list(dict.fromkeys(term for term in found if term))


def contains(field: str, terms: list[str]) -> Q:
    """That all of the terms occur in it, in whatever case."""
    found = Q()
    for term in terms:
        found &= Q(**{f"{field}__holds": term})
    return found


def excerpt(text: str, terms: list[str], length: int = SNIPPET) -> str:
    """About `length` characters around the first word that is in it: whole words on one line, without the signs of
    Markdown, unless these are looked for."""
    found = pattern(terms).search(text)
    start = found.start() if found else 0
    at = max(0, start - BEFORE)
    at = text.find(" ", at, start) + 1 or at if at else 0
    cut = text[at : at + 2 * length]
    line = " ".join(cut.split()) if MARKS.search(" ".join(terms)) else in_a_line(cut)
    head = line[:length]
    if len(line) > length and head.rfind(" ") > length // 2:
        head = head[: head.rfind(" ")]
    is_all = len(line) <= length and at + 2 * length >= len(text)
    return ("… " if at else "") + head + ("" if is_all else "…")


def pattern(terms: list[str]) -> re.Pattern[str]:
    """Any of the terms, the longest that is there, or a word that begins as one's stem does; in whatever case.

    Of a split every other piece is one.
    """
    longest_first = sorted(terms, key=len, reverse=True)
    stems = (stem(term) for term in longest_first if PLAIN.match(term))
    words = [rf"\b{re.escape(root)}\w*" for root in stems if len(root) >= SHORTEST_STEM and root.isascii()]
    return re.compile(f"({'|'.join([*map(re.escape, longest_first), *words])})", re.IGNORECASE)


def in_a_line(text: str) -> str:
    """What it says, without the marks that would make it bold, code or a heading."""
    return " ".join(MARKS.sub("", text).split())
