"""Adds the calendar date to a relative one ("yesterday", "letzten Monat"), so that it stays true in a later summary.

`relative_dates.toml` has the words of each language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from compression.core.text.language import likely_language

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TABLE = Path(__file__).with_suffix(".toml")
_ENGLISH = "English"
_ELSEWHERE = {"hier": "French"}
"""Words that mean something else in another language: they count in texts of this one, or before a part of the day."""
_DAY, _MONTH, _YEAR = "day", "month", "year"
_SENTENCE_END = re.compile(r"[.!?;\n]")


@dataclass(frozen=True)
class _Found:
    """A relative date in a text; for a month or a year, a day in it."""

    language: str
    start: int
    end: int
    unit: str
    day: date


class _Language:
    """The relative dates of one language."""

    def __init__(self, name: str, table: dict[str, Any]) -> None:
        self._name = name
        self._table = table
        self._hints = tuple(table["hints"])
        self._offsets = {word: offset for offset, words, *_ in table["days"] for word in words.split("|")}
        self._weekdays = _places(table.get("weekdays", ()))
        self._numbers = _places(table.get("numbers", ()))

    def dates(self, text: str, small: str, said: date) -> Iterator[_Found]:
        """The relative dates of a text of the day `said`; `small` is the text in small letters."""
        if not any(hint in small for hint in self._hints):
            return
        likely = cache(partial(likely_language, text))
        for match in self._expression.finditer(text):
            try:
                found = self._date(match, likely, said)
            except (OverflowError, ValueError, LookupError):  # before the year 1, or a letter that only looks alike
                continue
            if found:
                yield _Found(self._name, match.start(), match.end(), *found)

    def last_weekdays(self, text: str, asked: date) -> Iterator[date]:
        """The last of each weekday that a question of the day `asked` names alone."""
        for match in self._weekday_alone.finditer(text) if "on" in self._table else ():
            weekday = self._weekdays.get(next(filter(None, match.groups())).lower())
            if weekday is not None and asked - date.min > timedelta(days=7):
                yield asked - timedelta(days=(asked.weekday() - weekday) % 7 or 7)

    @cached_property
    def _weekday_alone(self) -> re.Pattern[str]:
        form = self._table["on"].replace("{weekday}", f"({'|'.join(_longest_first(self._weekdays))})")
        is_spaced = self._table.get("spaced", True)
        return re.compile(rf"(?<![^\W_])(?:{form})(?![^\W_])" if is_spaced else form, re.IGNORECASE)

    def _date(self, match: re.Match[str], likely: Callable[[], str], said: date) -> tuple[str, date] | None:
        groups = {name: part for name, part in match.groupdict().items() if part is not None}
        if word := groups.get("word"):
            language = _ELSEWHERE.get(word.lower())
            if language and "part" not in groups and likely() != language:
                return None
            return _DAY, said + timedelta(days=self._offsets[word.lower()])
        if name := next((groups[key] for key in groups if key.startswith("weekday")), None):
            weekday = self._weekdays[name.lower()]
            if "last" in groups or "next" in groups:
                ahead = (weekday - said.weekday()) % 7
                return _DAY, said + timedelta(days=ahead - 7 if "last" in groups else ahead or 7)
            week = next(offset for place, (offset, _) in enumerate(self._table["of_week"]) if f"week{place}" in groups)
            return _DAY, said + timedelta(days=7 * week + weekday - said.weekday())
        if number := next((groups[key] for key in groups if key.startswith("number")), None):
            count = int(number) if number.isdecimal() else 1 + self._numbers[number.lower()]
            unit = next(unit for unit in (_DAY, _MONTH, _YEAR) if any(key.startswith(unit) for key in groups))
            if "soon" in groups and not self._looks_ahead(match):
                return None
            return unit, _moved(said, unit, -count if "ago" in groups else count)
        for unit in (_MONTH, _YEAR):
            for place, (offset, _) in enumerate(self._table[f"{unit}s"]):
                if f"{unit}s{place}" in groups:
                    return unit, _moved(said, unit, offset)
        return None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        table, names = self._table, _Names()
        weekday, number = "|".join(_longest_first(self._weekdays)), "|".join(_longest_first(self._numbers))
        forms = [self._day_words()]
        for key in ("last", "next"):
            if key in table:
                forms.append(f"(?P<{key}>{names.filled(table[key], weekday=weekday)})")
        for key in ("week", "months", "years"):
            for place, (_, form) in enumerate(table.get("of_week" if key == "week" else key, ())):
                forms.append(f"(?P<{key}{place}>{names.filled(form, weekday=weekday)})")
        for key in ("ago", "ahead", "soon"):
            if key in table:
                units = "|".join(f"{{{unit}}}" for unit in (_DAY, _MONTH, _YEAR))
                form = table[key].replace("{unit}", f"(?:{units})")
                parts = dict(zip((_DAY, _MONTH, _YEAR), table["units"], strict=True))
                filled = names.filled(form, number=rf"(?<![\d月/.,-])\d{{1,3}}|{number}", **parts)
                forms.append(f"(?P<{key}>{filled})")
        whole = "|".join(forms)
        if table.get("spaced", True):
            whole = rf"(?<![^\W_])(?:{whole})(?![^\W_])"
        begins = f"(?={table['begins']})" if "begins" in table else ""
        return re.compile(f"{begins}(?:{whole})", re.IGNORECASE)

    def _looks_ahead(self, match: re.Match[str]) -> bool:
        """Whether a match of `soon` has words for the future before it, and none for the past in its sentence."""
        before, after = _sentence_around(match)
        ahead, past = self._tenses
        return bool(ahead.search(before)) and not past.search(f"{before} {after}")

    @cached_property
    def _tenses(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        forms = (self._table[key].replace("\n", "") for key in ("lead", "past"))
        ahead, past = (re.compile(rf"(?<![^\W_])(?:{form})(?![^\W_])", re.IGNORECASE) for form in forms)
        return ahead, past

    def _day_words(self) -> str:
        """The expression of the words for days, longer ones first."""
        guards = {word: "".join(guard) for _, words, *guard in self._table["days"] for word in words.split("|")}
        words = "|".join(guards[word] + re.escape(word) for word in _longest_first(self._offsets))
        part = f"(?: (?P<part>{self._table['part']})(?![^\\W_]))?" if "part" in self._table else ""
        return f"(?P<word>{words}){part}"


class _Names:
    """Fills the placeholders of expressions, each time with a group of another name."""

    def __init__(self) -> None:
        self._count = 0

    def filled(self, form: str, **parts: str) -> str:
        def group(match: re.Match[str]) -> str:
            self._count += 1
            return f"(?P<{match[1]}_{self._count}>{parts[match[1]]})"

        return re.sub(r"\{([a-z]+)\}", group, form)


def weekdays_asked(question: str, asked: date) -> list[date]:
    """The days of a question about the past that names weekdays alone: "on Tuesday", "am Dienstag", "周二"."""
    return [day for language in _languages() for day in language.last_weekdays(question, asked)]


def written(day: date) -> str:
    """The date as "8 May 2023", which is unambiguous and takes few tokens."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def resolve(text: str, said: date) -> str:
    """`text`, written on the day `said`, with the date after each relative day, month and year: "yesterday (7 May)".

    Other languages than English get "gestern (2023-05-07)". Weeks stay relative to the date of their note.
    """
    pieces, end = [], 0
    for found in _found(text, said):
        pieces += [text[end : found.end], f" ({_named(found, said)})"]
        end = found.end
    return "".join((*pieces, text[end:]))


def relative_days(text: str, said: date) -> Iterator[tuple[date, int]]:
    """(day, place) of each relative day of a text of the day `said`: "yesterday", "two days ago", "letzten Montag"."""
    return ((found.day, found.start) for found in _found(text, said) if found.unit == _DAY)


def _found(text: str, said: date) -> Iterator[_Found]:
    """The relative dates of a text in its order; of those that overlap, the first and longest."""
    small, end = text.lower(), 0
    found = (one for language in _languages() for one in language.dates(text, small, said))
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.start >= end:
            end = one.end
            yield one


@cache
def _languages() -> tuple[_Language, ...]:
    tables = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return tuple(_Language(name, table) for name, table in tables.items())


def _named(found: _Found, said: date) -> str:
    day, unit = found.day, found.unit
    if found.language != _ENGLISH:
        return day.isoformat()[: {_DAY: 10, _MONTH: 7, _YEAR: 4}[unit]]
    if unit == _DAY:
        return f"{day.day} {MONTHS[day.month - 1]}" + ("" if day.year == said.year else f" {day.year}")
    return f"{MONTHS[day.month - 1]} {day.year}" if unit == _MONTH else str(day.year)


def _moved(said: date, unit: str, count: int) -> date:
    """A day that many days, months or years from `said`. Months and years have their first day."""
    if unit == _DAY:
        return said + timedelta(days=count)
    months = 12 * said.year + said.month - 1 + (count if unit == _MONTH else 12 * count)
    return date(months // 12, months % 12 + 1, 1)


def _sentence_around(match: re.Match[str]) -> tuple[str, str]:
    """The parts of its sentence before and after a match, at most 100 characters each."""
    before = match.string[max(0, match.start() - 100) : match.start()]
    after = match.string[match.end() : match.end() + 100]
    return _SENTENCE_END.split(before)[-1], _SENTENCE_END.split(after, maxsplit=1)[0]


def _places(names: Iterable[str]) -> dict[str, int]:
    """The place of each name in its list; forms of one name are separated by |."""
    return {form: place for place, forms in enumerate(names) for form in forms.split("|")}


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=len, reverse=True)
