"""Reads the dates and times of a text, so that "7 May 2023", "2023-05-07" and "yesterday" can be one day."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.clock_times import times_in
from compression.core.text.number_words import in_digits
from compression.core.text.patterns import DATE, OTHER_MONTHS

NEAR_DAYS = 21
"""The days around a message within which a date may be its "yesterday" or "in three weeks": no message need have it."""
NEAR_MONTHS = 13
"""The same for a month without a day."""
NEAR_YEARS = 10
"""The same for a year alone: "two years ago"."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = lazy_pattern(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*", re.IGNORECASE)
_OTHERS = [lazy_pattern(rf"\b(?:{names})\b", re.IGNORECASE) for names in OTHER_MONTHS]
_DIGITS = lazy_pattern(r"\d+")
_FOUR = lazy_pattern(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")


class Day(NamedTuple):
    """A date with its written parts; missing ones are None."""

    year: int | None
    month: int | None
    day: int | None


class Days:
    """The dates that texts have, and those that are near to their messages."""

    def __init__(self, text: str, days: Iterable[date]) -> None:
        self._days: set[Day] = set()
        for found in DATE.finditer(text):
            for day in days_in(found.group()):
                self._days.update(_forms(day))
        self._years = {int(year) for year in _FOUR.findall(text)}
        self._times = set(times_in(text))
        distinct = set(days)
        for near in {one + timedelta(days=by) for one in distinct for by in range(-NEAR_DAYS, NEAR_DAYS + 1)}:
            self._days.update(_forms(Day(near.year, near.month, near.day)))
        for year, month in {(one.year, one.month) for one in distinct}:
            for by in range(-NEAR_MONTHS, NEAR_MONTHS + 1):
                months = 12 * year + month - 1 + by
                self._days.add(Day(months // 12, months % 12 + 1, None))
            self._years.update(range(year - NEAR_YEARS, year + NEAR_YEARS + 1))

    def have(self, text: str) -> bool:
        """Whether a date or time is among them, in any form."""
        if times := set(times_in(text)):
            return not self._times.isdisjoint(times)
        return any(day in self._days for day in days_in(text))

    def have_year(self, year: int) -> bool:
        return year in self._years


def days_in(text: str) -> list[Day]:
    """The dates that a match of DATE can mean: 3/4 is in March or in April."""
    return [day for day in _days(text) if _is_day(day)]


def _days(text: str) -> Iterator[Day]:
    text = in_digits(text)
    numbers = [int(digits) for digits in _DIGITS.findall(text)[:3]]
    if month := _month(text):
        years, others = [n for n in numbers if n > 31], [n for n in numbers if n <= 31]
        yield Day(years[0] if years else None, month, others[0] if others else None)
    elif "年" in text or "년" in text or (len(numbers) == 3 and numbers[0] > 31):
        year, month_or_none, day_or_none = (*numbers, None, None)[:3]
        yield Day(year, month_or_none, day_or_none)
    elif "月" in text or "월" in text:
        yield Day(None, *numbers[:2])
    elif len(numbers) == 3:
        first, second, year = numbers
        year += 2_000 if year < 70 else 1_900 if year < 100 else 0
        yield Day(year, first, second)
        yield Day(year, second, first)


def _month(text: str) -> int:
    """The month that a date names, from 1 on; 0 if it names none."""
    for place, names in enumerate(_OTHERS, 1):
        if names.search(text):
            return place
    name = _NAME.search(text)
    return _MONTHS.index(name.group()[:3].lower()) + 1 if name else 0


def _is_day(day: Day) -> bool:
    return (day.month is None or 1 <= day.month <= 12) and (day.day is None or 1 <= day.day <= 31)


def _forms(day: Day) -> Iterator[Day]:
    """The date and its less exact forms: without its year, without its day, and its month alone."""
    yield day
    yield Day(None, day.month, day.day)
    yield Day(day.year, day.month, None)
    yield Day(None, day.month, None)
