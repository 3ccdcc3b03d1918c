"""Splits a query into terms, matches them in texts, and makes excerpts around the matches."""

from __future__ import annotations

import re

from django.db.models import Q

from compression.core.text.stemming import stem

MARKS = re.compile(r"```\w*|`|\*\*(?=\S)|(?<=\S)\*\*|^#{1,6} ", re.MULTILINE)
"""Markdown signs that are left out of a text on one line."""

SNIPPET = 120
BEFORE = 40
"""SNIPPET: about the characters of a snippet. BEFORE: the most of them before the first found word."""

PLAIN = re.compile(r"[^\W_]+\Z")
JOINS = re.compile("[-_.,'’\u2010\u2011]")
"""Signs within a compound or a grouped number, which is also written as one word."""
SHORTEST_STEM = 4
TERM = re.compile(r'"([^"]+)"?|(\S+)')


def terms_of(query: str) -> list[str]:
    """The distinct words of a query and its phrases in quotes; an unclosed quote extends to the end."""
    found = [" ".join((phrase or word).split()) for phrase, word in TERM.findall(query)]
    return list(dict.fromkeys(term for term in found if term))


def phrases_of(query: str) -> set[str]:
    """The phrases in quotes of a query, as `terms_of` returns them."""
    return {" ".join(phrase.split()) for phrase, _ in TERM.findall(query) if phrase}


def contains(field: str, terms: list[str]) -> Q:
    """The condition that all terms occur in a field, in any case."""
    found = Q()
    for term in terms:
        found &= Q(**{f"{field}__holds": term})
    return found


def excerpt(text: str, terms: list[str], length: int = SNIPPET) -> str:
    """About `length` characters of a text around the first match: whole words, on one line.

    Signs of Markdown are left out, unless the terms contain some.
    """
    found = marks(terms, text).search(text)
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


def marks(terms: list[str], text: str) -> re.Pattern[str]:
    """The pattern for the found words of a text: whole words, unless the terms only occur within words.

    If they do not occur at all, it matches their letters and digits with signs between them: "8443" in "8,443".
    """
    whole = pattern([term for term in terms if not _is_word(term)], words=[term for term in terms if _is_word(term)])
    within = pattern(terms)
    return next((one for one in (whole, within) if one.search(text)), _loose(terms) or within)


def _loose(terms: list[str]) -> re.Pattern[str] | None:
    """The pattern for terms of two and more characters, with a sign between any of them; None without any."""
    bare = [letters for term in terms if len(letters := JOINS.sub("", term)) > 1 and PLAIN.match(letters)]
    spelled = (f"{JOINS.pattern}?".join(map(re.escape, letters)) for letters in bare)
    found = "|".join(rf"\b{one}\b" for one in spelled)
    return re.compile(f"({found})", re.IGNORECASE) if found else None


def _is_word(term: str) -> bool:
    """Whether a term is a word of letters that are written with spaces between words."""
    return term.isascii() and PLAIN.match(term) is not None


def pattern(terms: list[str], *, words: list[str] | None = None) -> re.Pattern[str]:
    """A pattern for any of the terms, the longest first, or a word that begins with a term's stem; in any case.

    `words` are terms that only count as whole words.
    Its only group is the whole match, so that every second piece of a split is a match.
    """
    longest_first = sorted(terms, key=len, reverse=True)
    stems = (stem(term) for term in (*longest_first, *(words or ())) if PLAIN.match(term))
    inflected = [
        rf"\b{re.escape(root)}\w*" for root in stems if len(root) >= SHORTEST_STEM and root.isascii() and root.isalpha()
    ]
    whole = [rf"\b{re.escape(word)}\b" for word in words or ()]
    return re.compile(f"({'|'.join([*map(re.escape, longest_first), *inflected, *whole])})", re.IGNORECASE)


def in_a_line(text: str) -> str:
    """A text on one line, without the signs of Markdown for bold text, code and headings."""
    return " ".join(MARKS.sub("", text).split())
