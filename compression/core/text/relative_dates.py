"""Adds the calendar date to a relative one in English ("yesterday"), so that it stays true in a summary read later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SMALL = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "a couple of": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
}
_RELATIVE = re.compile(
    r"\b(?:(?P<day>the day before yesterday|yesterday|tomorrow)(?: (?:morning|afternoon|evening|night))?"
    r"|(?P<which>last|next|this past) (?P<unit>month|year|" + "|".join(WEEKDAYS) + r")"
    r"|(?P<this>this) (?P<now>month|year)"
    r"|(?P<number>\d{1,3}|a couple of|an?|one|two|three|four|five|six|seven|ten) (?P<units>day|month|year)s? ago)\b",
    re.IGNORECASE,
)
_DAYS = {"the day before yesterday": -2, "yesterday": -1, "tomorrow": 1}


def written(day: date) -> str:
    """The date as "8 May 2023", which is unambiguous and takes few tokens."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def resolve(text: str, said: date) -> str:
    """`text`, written on the day `said`, with the date after each relative day, month and year: "yesterday (7 May)".

    Weeks stay relative to the date of their note.
    """
    return _RELATIVE.sub(lambda match: _resolved(match, said), text)


def relative_days(text: str, said: date) -> Iterator[tuple[date, int]]:
    """(day, place) of each relative day of a text of the day `said`: "yesterday", "two days ago", "last Tuesday"."""
    for match in _RELATIVE.finditer(text):
        try:
            day = _day(match, said)
        except (OverflowError, LookupError):  # before the year 1, or a letter that only looks like another one
            continue
        if day:
            yield day, match.start()


def day_of(said: date, days: int) -> date | None:
    """The day so many days after `said`; None outside of the calendar."""
    try:
        return said + timedelta(days=days)
    except OverflowError:
        return None


def _day(match: re.Match[str], said: date) -> date | None:
    """The day that a match names; None for a month or a year."""
    if day := match["day"]:
        return said + timedelta(days=_DAYS[day.lower()])
    if match["which"]:
        unit = match["unit"].lower()
        return _weekday(unit, 1 if match["which"].lower() == "next" else -1, said) if unit in WEEKDAYS else None
    if match["number"] and match["units"].lower() == "day":
        return said - timedelta(days=_count(match["number"]))
    return None


def _count(number: str) -> int:
    return int(number) if number.isdigit() else _SMALL[number.lower()]


def _weekday(name: str, step: int, said: date) -> date:
    """The next day of that name after `said`, or the last one before it."""
    ahead = (WEEKDAYS.index(name) - said.weekday()) % 7
    return said + timedelta(days=ahead or 7 if step > 0 else ahead - 7)


def _resolved(match: re.Match[str], said: date) -> str:
    try:
        return f"{match.group()} ({_named(match, said)})"
    except (OverflowError, ValueError, LookupError):  # before the year 1, or a letter that only looks like another one
        return match.group()


def _named(match: re.Match[str], said: date) -> str:
    if day := _day(match, said):
        return _short(day, said)
    if match["this"]:
        return _month(said, 0) if match["now"].lower() == "month" else str(said.year)
    if match["which"]:
        step = 1 if match["which"].lower() == "next" else -1
        return {"month": _month(said, step), "year": str(said.year + step)}[match["unit"].lower()]
    count = _count(match["number"])
    return _month(said, -count) if match["units"].lower() == "month" else str(said.year - count)


def _short(day: date, said: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}" + ("" if day.year == said.year else f" {day.year}")


def _month(said: date, months: int) -> str:
    month = said.year * 12 + said.month - 1 + months
    if month < 12:
        raise ValueError("before the year 1")
    return f"{MONTHS[month % 12]} {month // 12}"
