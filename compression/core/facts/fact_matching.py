"""Looks for traces of facts in a summary: the facts themselves, or parts of them in other words.

A summary that says "8443" for "port 8443", or "Nutt" for "Amy Ellis Nutt", has a trace of the fact. This is the mildest
of tests: only a summary without any trace of any fact is without its source's facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compression.core.facts.find import kept_facts
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.stopwords import ENGLISH
from compression.core.values import Fact

_UNSPACED = "\u0e00-\u0fff\u2e80-\ud7ff\uf900-\ufaff"
"""Characters of scripts without spaces between words; each character counts as a word."""
_PART = lazy_pattern(rf"\d+|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")
_HUMP = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_EXTENSION = lazy_pattern(r"\.\w{1,8}\Z")
MIN_NAME_CHARS = 3
MIN_WORD_CHARS = 4
"""The minimum length of a word that is matched by its beginning ("deploys" and "deployed")."""


def holds_any(facts: Iterable[Fact], summary: str) -> bool:
    """Whether the summary has one of the facts, or a trace of one."""
    facts = tuple(facts)
    if kept_facts(facts, summary):
        return True
    words = set(_parts(summary))
    words |= {word[:MIN_WORD_CHARS] + "…" for word in words if len(word) > MIN_WORD_CHARS}
    return any(_has_trace(fact, words) for fact in facts)


def _has_trace(fact: Fact, words: set[str]) -> bool:
    """Whether the words have a number of the fact, or as many of its words as its kind needs."""
    parts = _parts(_named(fact))
    if any(part in words for part in parts if part.isdigit() and (len(part) > 1 or len(parts) == 1)):
        return True
    names = [part for part in parts if not part.isdigit() and part not in ENGLISH]
    there = [part for part in names if part in words or _beginning(part) in words]
    if fact.kind == "name":
        return any(len(part) >= MIN_NAME_CHARS for part in there)
    return bool(there) and 2 * len(there) >= len(names)


def _named(fact: Fact) -> str:
    """The part of the fact that names it: of a path or an image's name, the last without its extension."""
    if fact.kind not in ("path", "image", "url"):
        return fact.text
    return _EXTENSION.sub("", re.split(r"[/\\]", fact.text.rstrip("/\\"))[-1])


def _parts(text: str) -> list[str]:
    """The words and numbers of a text, in lower case; identifiers in their parts. "1,200" is the number 1200."""
    joined = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return [part.casefold() for part in _PART.findall(_HUMP.sub(" ", joined))]


def _beginning(word: str) -> str:
    return word[:MIN_WORD_CHARS] + "…" if len(word) > MIN_WORD_CHARS else word
