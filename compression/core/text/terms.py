"""Extracts the terms of a text: stems, names, numbers, identifiers and paths."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from compression.core.caching import cached_words
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.language import COMMON, common_words
from compression.core.text.patterns import UNSPACED, kind_of, parts_of
from compression.core.text.stemming import stem
from compression.core.text.stopwords import ENGLISH, words

Sort = Literal["word", "name", "number", "identifier", "path"]

_CHUNK = re.compile(r"(?!(?<=<)/)[\w$./~@%:+#\\'’-]++")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*+")
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")


_SAYS_LITTLE = re.compile("[的了是我你您他她它们們这這那也都就吗嗎呢吧啊把被着很]|^[\u3041-\u309f]+$")
"""Matches a pair of letters of common Chinese words, or of endings and particles in Japanese."""
_ENGLISH_TOO = words(
    "ai ale al co com comment con dat de del den die dir dove era est hat hay hoe ma mam mas met mi mia mis nas non "
    "nos od op os pas per pour son su te van war wo"
)
"""Common words of other languages that are words, names or abbreviations in English."""


class Term(NamedTuple):
    """A term of a text: a stem, or a path, identifier or number in lower case."""

    text: str
    sort: Sort


def terms_of(text: str) -> tuple[Term, ...]:
    """The terms of a sentence in order, without stop words; capitalised words are names unless they begin it."""
    terms: list[Term] = []
    for position, chunk in enumerate(_CHUNK.findall(text)):
        for term in _terms(chunk):
            terms.append(Term(term.text, "word") if position == 0 and term.sort == "name" else term)
    return tuple(terms)


@cached_words(entries=8_192, chars=200)
def parts(term: str) -> tuple[str, ...]:
    """The prefixes and suffixes of a path or dotted name: those of "a/b.py" are "a", "/b.py", "b.py", "a/b", "py"."""
    cuts = [at for at, character in enumerate(term) if character in "/." and at]
    return tuple(part for at in cuts for part in (term[:at], term[at:], term[at + 1 :]))


@cached_words(entries=32_768, chars=80)
def _terms(chunk: str) -> tuple[Term, ...]:
    if "://" in chunk:
        return (Term(chunk.rstrip(".:").lower()[:80], "path"),)
    if shape := kind_of(chunk):
        kind, text = shape
        sort: Sort = "path" if kind == "path" else "number" if kind in ("number", "plain") else "identifier"
        return (Term(text.lower()[:80], sort),)
    if len(parts := parts_of(chunk)) > 1:
        return tuple(term for part in parts for term in _terms(part))
    return tuple(
        term
        for word in _WORD.findall(chunk)
        if word.lower().replace("’", "'") not in _stop_words()
        for term in _of_word(word)
    )


def _of_word(word: str) -> tuple[Term, ...]:
    if _UNSPACED.search(word):  # a script without spaces between words: each pair of characters is a term
        pairs = [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        pairs = [pair for pair in pairs if not _SAYS_LITTLE.search(pair)]
        each = {pair: Term(pair, "word") for pair in pairs}  # one object for equal pairs
        return tuple(each[pair] for pair in pairs)
    if len(word) < 2 and not word.isdigit():
        return ()
    sort: Sort = "number" if any(map(str.isdigit, word)) else "name" if word[0].isupper() else "word"
    return (Term(stem(word), sort),)


@cache
def _stop_words() -> frozenset[str]:
    others = frozenset(word for language in COMMON for word in common_words(language))
    return ENGLISH | (others - _ENGLISH_TOO)
