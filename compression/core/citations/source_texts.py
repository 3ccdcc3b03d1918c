"""Looks up names, numbers, dates, paths and quotations in the text of a summary's messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property

from compression.core.citations.hard_facts import HardFact
from compression.core.facts.find import is_word_character
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text import numbers
from compression.core.text.dates import Days
from compression.core.text.durations import SIGNS, WORDS, in_other_units, seconds_in
from compression.core.text.expressions import one_of
from compression.core.text.relative_dates import resolve

LOOKED_FOR = 1_000
"""The most texts that are looked for letter by letter; further ones of a longer summary count as found."""
MAX_OCCURRENCES = 8
"""Occurrences of a number in the text that are looked at, as it may be a part of others."""
BEGINNING = 4
"""The equal letters at the beginning of two words that count as forms of one word."""
MAX_COUNT = 20
"""A number of things up to this one may be counted by the summary itself."""
LEAST_OF_QUOTATION = 0.5
"""A quotation whose words are said at least by this share may be shortened or joined from several messages."""

_WORD = lazy_pattern(r"[^\W_]+")
_NOT_ALNUM = lazy_pattern(r"[\W_]+")
_COUNTED = lazy_pattern(
    r"(?:users?|people|items?|rows?|lines?|files?|requests?|times|pages?|leute|person\w{0,3}|pessoas|человека?|人|个|個|行|页|頁"
    rf"|{one_of(name for name, seconds in (WORDS | SIGNS).items() if seconds >= WORDS['day'])})\Z"
)
_METRIC = lazy_pattern(r"\d\s?[kmgtpµc]?(?:i?b|g|m|l|w|wh|hz|v)(?:/s)?\Z")
_PREFIXES = (1e3, 1e-3, 1e6, 1e-6, 1024, 1 / 1024, 100, 0.01)
_THOUSANDS = lazy_pattern(r"\d{1,3}(?:\.\d{3}){2,}(?!\d|\.\d)")
_PLAIN = lazy_pattern(r"[\d.,'’\s]+\Z")


class SourceTexts:
    """All that was said in the texts, each with the day that it was said on (None: not known)."""

    def __init__(self, texts: Iterable[tuple[str, date | None]]) -> None:
        given = [(text, day) for text, day in texts if text]
        self._texts = [folded(text) for text, _ in given]
        self._text = "\n".join(self._texts)
        self._given = given
        self._looked_for = 0
        self._found: dict[str, bool] = {}

    def has(self, fact: HardFact) -> bool:
        """Whether a fact of a statement is said anywhere, in this form or in another."""
        look: Mapping[str, Callable[[str], bool]] = {
            "name": self._has_name,
            "number": self._has_number,
            "date": self._has_date,
            "quoted": self._has_quotation,
            "path": self._has_path,
        }
        is_exact = fact.kind in ("number", "date") and self._has_exactly(folded(fact.text))
        return is_exact or look.get(fact.kind, self._has_letters)(fact.text)

    @cached_property
    def _words(self) -> set[str]:
        return set(_WORD.findall(self._text))

    @cached_property
    def _beginnings(self) -> set[str]:
        return {word[:BEGINNING] for word in self._words if len(word) >= BEGINNING}

    @cached_property
    def _letters(self) -> str:
        return "\n".join(letters_of(text) for text in self._texts)

    @cached_property
    def _values(self) -> set[float]:
        return numbers.values_in(self._text)

    @cached_property
    def _roundings(self) -> set[float]:
        return numbers.roundings(self._values)

    @cached_property
    def _seconds(self) -> set[float]:
        return seconds_in(self._text)

    @cached_property
    def _days(self) -> Days:
        resolved = (new for text, day in self._given if day and (new := resolve(text, day)) != text)
        texts = (text for text, _ in self._given)
        return Days("\n".join((*texts, *resolved)), (day for _, day in self._given if day))

    def _has_exactly(self, text: str) -> bool:
        """Whether a number or date stands in the text as it is, not as a part of another."""
        at = self._text.find(text)
        for _ in range(MAX_OCCURRENCES):
            if at < 0:
                break
            before, after = self._text[max(0, at - 1) : at], self._text[at + len(text) : at + len(text) + 1]
            if not (is_word_character(before) or before in (".", ",", ":") or is_word_character(after)):
                return True
            at = self._text.find(text, at + 1)
        return False

    def _has_date(self, text: str) -> bool:
        return self._days.have(text)

    def _has_word(self, word: str) -> bool:
        return word in self._words or (len(word) > BEGINNING and word[:BEGINNING] in self._beginnings)

    def _has_name(self, name: str) -> bool:
        return all(self._has_word(word) or self._has_letters(word) for word in _WORD.findall(folded(name)))

    def _has_number(self, text: str) -> bool:
        text = numbers.without_spaces(folded(text))
        if text.count(".") > 1 and not _THOUSANDS.match(text) and not any(map(str.isalpha, text)):
            return False  # a version or an address, which stands nowhere as it is
        if any(map(str.isalpha, text)) and not re.match(r"[$€£¥₹]?\s?\d[\d.,]*\s?\D*\Z", text):
            return self._has_parts(text)
        values = numbers.values_of(text)
        if not values or not values.isdisjoint(self._values):
            return True
        (least, *_) = sorted(values)
        if _COUNTED.search(text) and least <= MAX_COUNT:
            return True
        if _PLAIN.match(text):
            return least.is_integer() and self._days.have_year(int(least)) and len(text) == 4
        if any(self._takes(seconds) for seconds in seconds_in(text)):
            return True
        return not values.isdisjoint(self._roundings) or self._has_in_other_units(text, values)

    def _has_in_other_units(self, text: str, values: set[float]) -> bool:
        """Whether a size or a distance is said with another prefix: 1.5 GB as 1500 MB."""
        return bool(_METRIC.search(text)) and any(
            numbers.rounded(value * by) in self._values for value in values for by in _PREFIXES
        )

    def _takes(self, seconds: float) -> bool:
        """Whether a duration is said, in any unit."""
        return seconds in self._seconds or not in_other_units(seconds).isdisjoint(self._values)

    def _has_parts(self, text: str) -> bool:
        """Whether all words and numbers of an address or version are said, or the whole of it."""
        return all(part in self._words for part in _WORD.findall(text)) or self._has_letters(text)

    def _has_quotation(self, text: str) -> bool:
        if self._has_letters(text):
            return True
        words = [word for word in _WORD.findall(folded(text)) if len(word) > 2]
        return sum(map(self._has_word, words)) >= LEAST_OF_QUOTATION * len(words)

    def _has_path(self, text: str) -> bool:
        name = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
        return self._has_letters(name) or self._has_letters(text)

    def _has_letters(self, text: str) -> bool:
        """Whether the letters and digits of a text follow each other in a message, with anything between them."""
        letters = letters_of(folded(text))
        if letters not in self._found:
            self._looked_for += 1
            self._found[letters] = self._looked_for > LOOKED_FOR or letters in self._letters
        return self._found[letters]


def folded(text: str) -> str:
    """The text in lower case, its letters and digits in their usual forms, without accents' variants."""
    return unicodedata.normalize("NFKC", text).casefold()


def letters_of(text: str) -> str:
    """The letters and digits of a text alone."""
    return _NOT_ALNUM.sub("", text)
