"""The terms that texts are indexed and looked up by, the same for both, in every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from compression.core.caching import cached_words
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.language import common_words, likely_language
from compression.core.text.stemming import LANGUAGES, stem, stem_in
from compression.core.text.stopwords import ENGLISH

VERSION = 6
"""The version of these rules; an index of another version is rebuilt."""
MAX_TERM_CHARS = 40
MAX_TERMS = 20_000
"""The most different terms of one text: the first ones of a longer text."""

_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0900-\u0963\u0971-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
_WORD = lazy_pattern(rf"((?:[^\W_]|[{_MARKS}])+)(?:['’](?:s|t|d|m|re|ve|ll)\b)?", re.IGNORECASE)
_JOINED = lazy_pattern(
    r"(?<![^\W_])(?:\d{1,3}(?:[.,'’]\d{3})+(?![^\W_]|[.,'’]\d)|[^\W_]+(?:[-_\u2010\u2011][^\W_]+){1,3})", re.IGNORECASE
)
"""A number with groups of thousands, or up to four words with a hyphen or an underscore between them."""
_SIGNS = "-_.,'’\u2010\u2011"
"""The signs of `_JOINED`."""
_JOINS = lazy_pattern(r"[^\W_]+")
_RUN = lazy_pattern(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = lazy_pattern(f"[{_UNSPACED}]")
_ACCENTED = (range(0x80, 0x250), range(0x370, 0x530), range(0x1E00, 0x2000), range(0xFF00, 0xFF5F))


def folded(text: str) -> str:
    """The text in small letters without accents, each character at its place."""
    if text.isascii():
        return text.lower()
    return text.translate(_plain_letters()).lower()


def index_terms(text: str, language: str | None = None) -> list[str]:
    """The different terms of a text in order: stems, numbers, and pairs of characters where no spaces separate words.

    A text in one of `stemming.LANGUAGES` has the stems of that language too; None: the likely one. A term has only
    letters, marks and digits; of a longer one the first MAX_TERM_CHARS count. Last are the terms of `joined_words`.
    """
    language = likely_language(text) if language is None else language
    found: dict[str, None] = {}
    for terms in words_of(text, language):
        found |= dict.fromkeys(terms)
        if len(found) >= MAX_TERMS:
            break
    for word in joined_words(folded(text)):
        found |= dict.fromkeys(terms_of_word(word, language))
    return list(found)[:MAX_TERMS]


def words_of(text: str, language: str) -> Iterator[tuple[str, ...]]:
    """The terms of each word of a text in a language ("": not known), in order."""
    return (terms_of_word(word[1], language) for word in _WORD.finditer(folded(text)))


def joined_words(text: str) -> list[str]:
    """The compounds and grouped numbers of a folded text, written as one word: "e-mail" is "email", "8,443" is "8443".

    Numbers with another sign between them, such as dates and decimals, are none.
    """
    if not any(sign in text for sign in _SIGNS):
        return []
    return [word for found in _JOINED.finditer(text) if (word := _as_one(found[0]))]


def joined_word(text: str) -> str:
    """The single word that a folded compound or grouped number is also written as; "" for another text."""
    return _as_one(text) if _JOINED.fullmatch(text) else ""


def _as_one(text: str) -> str:
    parts = _JOINS.findall(text)
    is_other_number = any(one.isdecimal() and other.isdecimal() for one, other in pairwise(parts))
    if all(part.isdecimal() for part in parts):
        is_other_number = not all(len(part) == 3 for part in parts[1:])
    return "" if is_other_number or len(text) > MAX_TERM_CHARS else "".join(parts)


@cached_words(entries=32_768, chars=40)
def terms_of_word(word: str, language: str = "") -> tuple[str, ...]:
    """The terms of a folded run of letters and digits, in a text of a language ("": not known)."""
    if not _IS_UNSPACED.search(word):
        usual = stem(word)[:MAX_TERM_CHARS]
        own = stem_in(word, language)[:MAX_TERM_CHARS] if language in LANGUAGES and word.isalpha() else usual
        return (usual,) if own == usual else (usual, own)
    return tuple(term for run in _RUN.findall(word) for term in _of_run(run))


def says_little(term: str, language: str = "") -> bool:
    """Whether the term is the stem of an English stop word, or of one of the most common words of the language."""
    return term in _stop_stems("") or (language in LANGUAGES and term in _stop_stems(language))


def is_unspaced(term: str) -> bool:
    """Whether a pair of characters stands within words, not for a word."""
    return bool(_IS_UNSPACED.search(term))


def _of_run(run: str) -> tuple[str, ...]:
    if not _IS_UNSPACED.search(run):
        return (stem(run)[:MAX_TERM_CHARS],)
    return tuple(run[at : at + 2] for at in range(max(1, len(run) - 1)))


@cache
def _stop_stems(language: str) -> frozenset[str]:
    usual = ENGLISH | {"tell", "told", "remind", "remember"}
    words = common_words(language) if language else usual
    return frozenset(term for word in words for terms in words_of(word, language) for term in terms)


@cache
def _plain_letters() -> dict[int, str]:
    """The small letters without accents of scripts with cases, where each is one character.

    The Russian й is a letter, not an и with an accent: endings begin with it.
    """
    plain: dict[int, str] = {}
    for code in (code for codes in _ACCENTED for code in codes if chr(code) not in "йЙ"):
        bare = "".join(one for one in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(one))
        if len(bare.lower()) == 1:
            plain[code] = bare.lower()
    return plain | {0x130: "i"}
