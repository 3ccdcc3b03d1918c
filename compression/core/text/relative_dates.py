"""Adds the calendar date to a relative one in English ("yesterday"), so that it stays true in a summary read later."""

from __future__ import annotations

import re
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


def _resolved(match: re.Match[str], said: date) -> str:
    try:
        return f"{match.group()} ({_named(match, said)})"
    except (OverflowError, ValueError):  # before the year 1
        return match.group()


def _named(match: re.Match[str], said: date) -> str:
    if day := match["day"]:
        return _short(said + timedelta(days=_DAYS[day.lower()]), said)
    if match["this"]:
        return _month(said, 0) if match["now"].lower() == "month" else str(said.year)
    if match["which"]:
        return _neighbour(match["unit"].lower(), 1 if match["which"].lower() == "next" else -1, said)
    number = match["number"].lower()
    count = int(number) if number.isdigit() else _SMALL[number]
    if match["units"].lower() == "day":
        return _short(said - timedelta(days=count), said)
    return _month(said, -count) if match["units"].lower() == "month" else str(said.year - count)


def _neighbour(unit: str, step: int, said: date) -> str:
    if unit == "year":
        return str(said.year + step)
    if unit == "month":
        return _month(said, step)
    ahead = (WEEKDAYS.index(unit) - said.weekday()) % 7
    days = ahead or 7 if step > 0 else ahead - 7
    return _short(said + timedelta(days=days), said)


def _short(day: date, said: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}" + ("" if day.year == said.year else f" {day.year}")


def _month(said: date, months: int) -> str:
    month = said.year * 12 + said.month - 1 + months
    if month < 12:
        raise ValueError("before the year 1")
    return f"{MONTHS[month % 12]} {month // 12}"
