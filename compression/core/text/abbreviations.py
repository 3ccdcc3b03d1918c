"""Abbreviations of several languages: their full stops end no sentence.

`abbreviations.toml` has the words.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_suffix(".toml")
_ANY_WORD, _NUMBER, _SMALL_LETTER = "before_any_word", "before_a_number", "before_a_small_letter"

_LONGEST = 24
"""Characters before a full stop that are looked at."""
_OPENING = "([{\"'“„«*_/"
_NEXT = re.compile(r"\s*[\"'“„«(\[*_]*([^\W_]+(?:['’][^\W\d_]+)?|\S)(\.?)")
_LETTER_AND_STOP = re.compile(r"[^\W\d_]\.")
_INITIALS = re.compile(r"[^\W\d_]{1,2}(?:\.-?[^\W\d_])+")
_ROMAN = re.compile(r"[IVXLC]{2,}")
_DAY_AND_MONTH = re.compile(r"(?i:\b(?:am|vom|zum|bis|ab|seit|de[mnr]|die|das|und|oder)\s+)\d{1,2}\.\d{1,2}$")
"""A date in German: "am 12.3. um acht"."""
_WORDS_OF_ONE_LETTER = frozenset("aeiouyàéóвиксуоя")


def is_abbreviation(text: str, start: int, mark: int, after: int, end: int) -> bool:
    """Whether the full stop at `mark` shortens a word, so that the sentence from `start` goes on at `after`."""
    if text[mark] != "." or text[mark + 1 : mark + 2] in (".", "…", "!", "?"):
        return False
    kind = _kind(text, start, mark, end)
    following = _NEXT.match(text, after, end) if kind else None
    if not following:
        return False
    word, stop = following.groups()
    if kind == _ANY_WORD:
        return bool(stop) or word not in _openers()
    if kind == _NUMBER:
        return word[0].isdigit() or word in "§№" or bool(_ROMAN.fullmatch(word))
    return not word[0].isupper()


def _kind(text: str, start: int, mark: int, end: int) -> str | None:
    """The table of the word that ends at `mark`; None for a word that is no abbreviation."""
    before = text[max(start, mark - _LONGEST) : mark]
    words = before.split()
    word = words.pop().lstrip(_OPENING) if words else ""
    if word[-1:].isdigit():
        return _SMALL_LETTER if _DAY_AND_MONTH.search(before) else None
    word = word.replace("’", "'").rpartition("'")[2]
    known = _known(word)
    while not known and words and _LETTER_AND_STOP.fullmatch(words[-1].lstrip(_OPENING)):
        word = words.pop().lstrip(_OPENING) + word
        known = _known(word)
    if known:
        return known
    if len(word) == 1 and word.isalpha():
        if word.isupper() or _LETTER_AND_STOP.match(text, mark + 1 + text[mark + 1 : mark + 2].isspace(), end):
            return _ANY_WORD
        return None if word in _WORDS_OF_ONE_LETTER else _NUMBER
    if len(word) > 1 and _ROMAN.fullmatch(word):
        return _SMALL_LETTER
    return _ANY_WORD if _INITIALS.fullmatch(word) else None


def _known(word: str) -> str | None:
    known = _kinds().get(word) or _kinds().get(word.lower())
    return known or (_NUMBER if word.endswith("str") else None)


@cache
def _kinds() -> dict[str, str]:
    return {word: kind for kind in (_ANY_WORD, _NUMBER, _SMALL_LETTER) for word in _table()[kind].split()}


@cache
def _openers() -> frozenset[str]:
    return frozenset(_table()["openers"].split())


def _table() -> dict[str, str]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))
