"""The calendar days that texts name, as terms of the index: "yesterday" of 8 May is found by "7 May 2023"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import islice

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.dates import days_in
from compression.core.text.patterns import DATE, OTHER_MONTHS
from compression.core.text.relative_dates import relative_days, weekdays_asked

PREFIX = "_d"
"""The beginning of a day's term: no word of a text gives a term with an underscore."""
MAX_DAYS = 200
"""The most days of one text that are read."""
MAX_NUMBERS = 500
"""The most numbers of one text that are looked at for dates."""
MAX_CHARS = 100_000
"""The characters of a text that are read for days."""
_HAN = "[一二三四五六七八九十]"
_NUMBER = lazy_pattern(rf"(?<![^\W_\u3040-\u9fff])\d{{1,4}}(?!\d)|(?<!{_HAN}){_HAN}{{1,2}}(?=月)")
_MONTH = lazy_pattern(f"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|{'|'.join(OTHER_MONTHS)}", re.IGNORECASE)
_PARTS = ("-", ".", "/", "年", "月", "년", "월")
_BEFORE, _AFTER = 14, 30
"""The characters around a number within which it may be part of a date."""


def day_term(day: date) -> str:
    """The term of a day: "_d20230507"."""
    return f"{PREFIX}{day:%Y%m%d}"


def is_day(term: str) -> bool:
    return term.startswith(PREFIX)


def days_named(text: str, said: date) -> Iterator[tuple[date, int]]:
    """(day, place) of each day that a text of the day `said` names: a date, "yesterday", "last Tuesday", "gestern".

    A date without a year is the nearest one. Weeks, months and years alone name no day.
    """
    text = text[:MAX_CHARS]
    yield from _dates(text, said)
    yield from relative_days(text, said)


def _dates(text: str, said: date) -> Iterator[tuple[date, int]]:
    """(day, place) of each date around one of the first MAX_NUMBERS numbers of the text."""
    end = 0
    for number in islice(_NUMBER.finditer(text), MAX_NUMBERS):
        start = max(end, number.start() - _BEFORE)
        if number.start() < end:
            continue
        around = text[start : number.start() + _AFTER]
        if text[number.end() : number.end() + 1] not in _PARTS and not _MONTH.search(around):
            continue
        for found in DATE.finditer(around):
            if found.start() <= number.start() - start < found.end():
                end = start + found.end()
                for written in days_in(found.group()):
                    if day := _nearest(*written, said):
                        yield day, start + found.start()
                break


def day_terms(text: str, said: date) -> list[str]:
    """The terms of the day on which a text was said, and of the first MAX_DAYS that it names."""
    terms = {day_term(said): None}
    for day, _ in days_named(text, said):
        terms[day_term(day)] = None
        if len(terms) > MAX_DAYS:
            break
    return list(terms)


def days_asked(question: str, asked: date) -> list[str]:
    """The terms of the days that a question of the day `asked` names; "on Tuesday" is the last one."""
    named = [day for day, _ in days_named(question, asked)]
    return list(dict.fromkeys(map(day_term, [*named, *weekdays_asked(question, asked)])))[:MAX_DAYS]


def _nearest(year: int | None, month: int | None, day: int | None, said: date) -> date | None:
    """The day; without a year, the one that is nearest to `said`. None where the calendar has none."""
    if not month or not day:
        return None
    years = [year] if year else [said.year - 1, said.year, said.year + 1]
    found = []
    for one in years:
        try:
            found.append(date(one, month, day))
        except (ValueError, OverflowError):  # 30 February, the year 0
            continue
    return min(found, key=lambda one: abs(one - said), default=None)
