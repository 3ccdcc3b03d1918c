"""Ranks texts for a query by BM25 over the candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import log

from compression.core.text.index_terms import is_unspaced, terms_of_word

K1, B = 1.2, 0.75
"""The constants of BM25 (Robertson and Zaragoza, 2009)."""
CHARS_PER_WORD = 6
"""The assumed characters of a word and the blank after it, by which lengths are compared."""
MAX_COUNTED = 20
"""The most occurrences of a term that are counted in one text: further ones barely change its score."""

MAX_TRIED = 500
"""The most places in one text at which a word's beginning is tried: other words may begin like it."""

_END = re.compile(r"[\W_]")


def rarity(with_it: int, among: int) -> float:
    """The weight of a term that `with_it` of `among` texts have."""
    return log(1 + (max(among, with_it) - with_it + 0.5) / (with_it + 0.5))


def occurrences(text: str, term: str, most: int = MAX_COUNTED, language: str = "") -> list[int]:
    """The first places of a term in a folded text, by the stems of a language ("": English)."""
    if is_unspaced(term):
        return _all(text, term, lambda at: True, most)
    # A stem may end otherwise than the word: "study" is "studi", "making" is "mak".
    probe = term[:-1] if len(term) > 3 else term

    def is_word(at: int) -> bool:
        if at and text[at - 1].isalnum():
            return False
        end = _END.search(text, at)
        return term in terms_of_word(text[at : end.start() if end else len(text)], language)

    return _all(text, probe, is_word, most)


def bm25(counts: Mapping[str, float], weights: Mapping[str, float], *, length: float, usual: float) -> float:
    """The score of a text with these terms and occurrences; `length` and `usual` are in the same unit."""
    norm = K1 * (1 - B + B * length / max(usual, 1))
    return sum(weights[term] * count * (K1 + 1) / (count + norm) for term, count in counts.items() if count)


def _all(text: str, probe: str, is_one: Callable[[int], bool], most: int) -> list[int]:
    found: list[int] = []
    tried, at = 0, text.find(probe)
    while at >= 0 and len(found) < most and tried < MAX_TRIED:
        tried += 1
        if is_one(at):
            found.append(at)
        at = text.find(probe, at + 1)
    return found
