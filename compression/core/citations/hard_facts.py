"""The parts of a statement that cannot be paraphrased: names, numbers, dates, identifiers, paths and quotations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from compression.core.caching import cached_texts
from compression.core.facts.find import find_facts, normalised, stands, words_in
from compression.core.sections import SECTIONS
from compression.core.text.language import language
from compression.core.text.relative_dates import MONTHS, WEEKDAYS
from compression.core.text.statements import LABELS

KINDS = frozenset({"error", "path", "url", "email", "date", "number", "identifier", "quoted", "name"})
STEERED_KINDS = KINDS - {"quoted", "name"}
"""The kinds that a summary in another language keeps as they are."""
MIN_QUOTED_WORDS = 3
"""A shorter quotation may be a word that the summary chose itself."""
MAX_CAPITALS = 0.15
"""In an unknown language, capitals make names while at most this share of the words within sentences has one."""
TITLE_CAPITALS = 0.6
"""A statement with this share of capitals is a title."""

_WORD = re.compile(r"[^\W\d_]+")
_WITHIN = re.compile(r"(?<=[^\W\d_][ ,])[^\W\d_]{2,}")
_LABELLED = re.compile(r"\A[^:\n]{1,60}:\s")
_NUMBERED = re.compile(r"(?<!\S)\(?(\d{1,2})\) ")
_DURATION = re.compile(r"(?:days?|weeks?|months?|years?|hours?|minutes?)\Z")
"""Matches a duration, which a statement with two dates may have counted itself."""
_FILE = re.compile(r"[\\~]|\A[./]|\d|_|\.\w{1,8}\Z")
_NO_NAMES = frozenset(
    word.lower()
    for word in (*LABELS, *SECTIONS, *MONTHS, *WEEKDAYS, "ok", "okay", "done", "pending", "blocked", "next", "none")
)
"""Words that a summary writes with a capital by itself, compared in lower case."""


class HardFact(NamedTuple):
    """A text of a statement, and its kind, one of KINDS."""

    kind: str
    text: str


def hard_facts(statement: str, *, kinds: frozenset[str] = KINDS) -> tuple[HardFact, ...]:
    """The facts of these kinds in a statement, in order: only its messages can be their source."""
    return tuple(fact for fact in _found(statement) if fact.kind in kinds)


def kinds_in(statements: Sequence[str], *, is_steered: bool) -> frozenset[str]:
    """The kinds that count in a summary with these statements. `is_steered`: it may be in another language.

    Where all nouns have capitals, as in German, a capital makes no name.
    """
    if is_steered:
        return STEERED_KINDS
    written_in = language("\n".join(statements))
    if written_in is None:
        return KINDS if _capitals(" ".join(statements)) <= MAX_CAPITALS else KINDS - {"name"}
    return KINDS - {"name"} if written_in == "German" else KINDS


def _capitals(text: str) -> float:
    """The share of words with a capital, among those that do not begin the text."""
    words: list[str] = _WITHIN.findall(text)
    return sum(word[0].isupper() for word in words) / max(1, len(words))


@cached_texts(chars=500_000)
def _found(statement: str) -> tuple[HardFact, ...]:
    label = _LABELLED.match(statement)
    labelled = label.group() if label else ""
    found = [HardFact(fact.kind, fact.text) for fact in find_facts([_NUMBERED.sub(r"\1. ", statement)])]
    whole = normalised(statement)
    words = words_in(whole)
    is_title = _capitals(statement) >= TITLE_CAPITALS
    is_between = sum(fact.kind == "date" for fact in found) > 1
    return tuple(
        fact
        for fact in found
        if fact.kind in KINDS
        and _is_hard(fact.kind, fact.text)
        and not (fact.kind == "name" and (is_title or fact.text in labelled))
        and not (fact.kind in ("number", "date") and not stands(normalised(fact.text), whole, words))
        and not (is_between and fact.kind == "number" and _DURATION.search(fact.text))
    )


def _is_hard(kind: str, text: str) -> bool:
    words = _WORD.findall(text)
    if kind == "quoted":
        return len(words) >= MIN_QUOTED_WORDS
    if kind == "name":
        return any(_names(word) for word in words)
    if kind == "path":
        return bool(_FILE.search(text))
    return True


def _names(word: str) -> bool:
    """Whether a capitalised word is no abbreviation, day, month or label."""
    return len(word) > 2 and not (word.isupper() and len(word) <= 5) and word.lower() not in _NO_NAMES
