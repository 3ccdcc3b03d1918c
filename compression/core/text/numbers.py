"""Reads the numbers of a text as values, however they are written: "1,200", "1.2k" and "twelve hundred" are one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.expressions import one_of
from compression.core.text.number_words import SCALES, values_in_words

_SCALES = SCALES | {
    "k": 1e3, "tsd": 1e3, "тыс": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "млн": 1e6, "b": 1e9, "bn": 1e9, "mrd": 1e9,
    "млрд": 1e9, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
"""Multiples behind a number in digits, in lower case."""
_SIGNS = {
    "%": 1e-2, "‰": 1e-3, "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12,
}  # fmt: skip
_NUMBER = lazy_pattern(
    r"(\d(?:[\d.,'’_\u00a0\u202f]{0,30}\d)?)[ \u00a0-]?"
    rf"(?:({one_of(_SCALES)})(?![^\W\d_])|([{''.join(_SIGNS)}]))?"
)
_SPACE = lazy_pattern(r"(?<=\d)\s{1,9}(?=\d{3}(?!\d))")
"""Space between thousands: "2 000 000"."""
_PART = lazy_pattern(r"\d{1,15}")
_FORMS = {
    ",": lazy_pattern(r"(\d+|\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.(\d+))?"),
    ".": lazy_pattern(r"(\d+|\d{1,3}(?:\.\d{3})+)(?:,(\d+))?"),
}
"""A number by the mark between its thousands; Indian numbers have two digits between them: "12,34,567"."""

MAX_DIGITS = 15
"""The most digits of a number that is compared by its value; a longer one is compared by its digits."""


def values_in(text: str) -> set[float]:
    """The values of all numbers of a text in lower case, each with and without its scale; linear time."""
    found: set[float] = set()
    if (joined := without_spaces(text)) != text:
        found.update(*map(_of, _NUMBER.finditer(joined)))
    for number in _NUMBER.finditer(text):
        found.update(_of(number))
        if not number[1].isdigit():  # a pair or a list may be written like a number
            found.update(map(float, _PART.findall(number[1])))
    found.update(values_in_words(text))
    return found


def values_of(number: str) -> set[float]:
    """The values that a single number of a statement can mean, in lower case."""
    first = _NUMBER.search(number)
    return set(_of(first)) if first else set()


def without_spaces(text: str) -> str:
    """The text without the spaces between thousands."""
    return _SPACE.sub("", text)


def roundings(values: set[float]) -> set[float]:
    """The values rounded to one to three significant digits."""
    return {rounded(float(f"{value:.{digits}g}")) for value in values for digits in (1, 2, 3)}


def _of(number: re.Match[str]) -> Iterator[float]:
    scale = _SCALES[number[2]] if number[2] else _SIGNS.get(number[3], 1)
    for value in readings(number[1]):
        yield value
        yield rounded(value * scale)


def readings(digits: str) -> Iterator[float]:
    """The values of a number whose separators may be of thousands or of decimals."""
    plain = re.sub(r"['’_\u00a0\u202f]", "", digits)
    if len(plain) > MAX_DIGITS + 5:
        return
    for thousands, form in _FORMS.items():
        if found := form.fullmatch(plain):
            yield rounded(float(f"{found[1].replace(thousands, '')}.{found[2] or 0}"))


def rounded(value: float) -> float:
    return round(value, 6)
