"""Reads times of day by a clock of twelve hours: "15:30", "15h30", "half past three", "halb vier", "下午三点半"."""

from __future__ import annotations

from collections.abc import Iterator

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.expressions import one_of
from compression.core.text.number_words import HAN_DIGITS, SMALL

_HALF_PAST, _HALF_TO, _QUARTER_PAST, _QUARTER_TO = 30, -30, 15, -15
_HOURS = {word: int(value) for word, value in SMALL.items() if 1 <= value <= 24}
_HOURS |= {sign: value for sign, value in HAN_DIGITS.items() if value}
_HOURS |= {"十": 10, "十一": 11, "十二": 12}
_N = rf"(?<![^\W_])(\d{{1,2}}|{one_of(_HOURS)})"
_NATIVE_KOREAN = ("한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두")
_KOREAN_HOURS = {word: hour for hour, word in enumerate(_NATIVE_KOREAN, 1)}
_HOURS |= _KOREAN_HOURS
_KOREAN = rf"(?<![\d가-힣])(\d{{1,2}}|{one_of(_KOREAN_HOURS)}) ?시"
_HAN = r"(?<![\d〇零一二三四五六七八九十])(\d{1,2}|十[一二]|[一二两兩三四五六七八九十])[点點時时]"

_DIGITS = lazy_pattern(r"(?<!\d)(\d{1,2})(?::(\d{2})|h(\d{2})\b|\.(\d{2})(?=\s?uhr\b|\s?h\b)|(?=\s?[ap]\.?m\b))")
_WORDS = tuple(
    (lazy_pattern(pattern), minutes)
    for pattern, minutes in (
        (rf"\bhalf past {_N}\b", _HALF_PAST),
        (rf"\bhalb {_N}\b", _HALF_TO),
        (rf"{_N} (?:heures? et demie|y media|e mezz[ao]|e meia)\b", _HALF_PAST),
        (rf"{_HAN}半", _HALF_PAST),
        (rf"\b(?:quarter past|viertel nach) {_N}\b", _QUARTER_PAST),
        (rf"{_N} (?:heures? et quart|y cuarto|e un quarto)\b", _QUARTER_PAST),
        (rf"\b(?:quarter to|viertel vor) {_N}\b", _QUARTER_TO),
        (rf"{_N} (?:heures? moins le quart|menos cuarto|meno un quarto)\b", _QUARTER_TO),
        (rf"{_N} ?(?:uhr|heures?|o['’]clock|h|часов|часа|in the (?:morning|afternoon|evening)|at night)\b", 0),
        (rf"\b(?:at|um|gegen|ab|bis|à|a las?|alle|[àa]s|в|by|until|from|desde las|dalle) {_N}\b", 0),
        (rf"{_HAN}(?!間|间)", 0),
        (rf"{_KOREAN} ?반", _HALF_PAST),
        (rf"{_KOREAN}(?! ?간)", 0),
    )
)
_WITH_MINUTES = tuple(map(lazy_pattern, (rf"{_HAN}(\d{{1,2}})分", rf"{_KOREAN} ?(\d{{1,2}})분")))
_TWELVE = lazy_pattern(
    r"\b(?:noon|midnight|mittags?|mitternachts?|midi|minuit|mediodía|medianoche|mezzogiorno|mezzanotte|meio-dia|meia-noite"
    r"|полдень|полночь|в полночь)\b|中午|正午|午夜"
)


def times_in(text: str) -> Iterator[int]:
    """The times of day of a text in minutes, from 0 to 719."""
    text = text.casefold()
    for hour, *minutes in _DIGITS.findall(text):
        yield _time(int(hour), int("".join(minutes) or 0))
    for pattern, added in _WORDS:
        for hour in pattern.findall(text):
            yield _time(_hour(hour), added)
    for pattern in _WITH_MINUTES:
        for hour, after in pattern.findall(text):
            yield _time(_hour(hour), int(after))
    if _TWELVE.search(text):
        yield 0


def _hour(text: str) -> int:
    return int(text) if text.isdecimal() else _HOURS[text]


def _time(hour: int, minutes: int) -> int:
    return (60 * hour + minutes) % 720
