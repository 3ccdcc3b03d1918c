"""Reads numbers in words: "twelve hundred", "fünfundzwanzig", "quatre-vingt-dix", "dos mil", "триста", "三百".

`number_words.toml` has the words of each language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.expressions import one_of

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SMALL = {word: float(value) for value, words in _TABLE["small"].items() for word in words.split()}
SCALES = {word: float(value) for value, words in _TABLE["scales"].items() for word in words.split()}
_PARTS = {
    word: tuple(map(float, values.split())) for values, words in _TABLE["parts"].items() for word in words.split()
}
_HALF = 0.5
_HUNDRED = 100

_HALVES = ("einhalb", "a half", "demi", "demie", "medio", "media", "mezzo", "mezza", "meio", "meia")
"""Behind another number: "two and a half million"."""

_SINGLE = one_of((*SMALL, *SCALES, *_HALVES))
_GERMAN, _ITALIAN = (f"(?>{one_of(words.split())})" for words in _TABLE["joined"].values())
_WORD = f"(?>(?:{_SINGLE})(?![^\\W\\d_])|{_GERMAN}(?:(?:und)?{_GERMAN})++|{_ITALIAN}{{2,}}+)(?![^\\W\\d_])"
_BETWEEN = r"[ \u00a0-](?:(?:and|et|y|e|und) )?"
_NUMBER = lazy_pattern(f"(?<![^\\W\\d_]){_WORD}(?:{_BETWEEN}{_WORD})*+")
_ATOMS = lazy_pattern(f"({_SINGLE})(?![^\\W\\d_])|(und)?({_GERMAN})|({_ITALIAN})")
_PART = lazy_pattern(rf"(?<![^\W\d_])(?:{one_of(_PARTS)})(?![^\W\d_])|半")
_AND_A_HALF = lazy_pattern(
    r"(?<!\w)(\w{1,12}+)['’ -]?(?:\w{1,20}+ )?"
    r"(?:and a half|et demie?|y medi[ao]|e mezz[ao]|e meia|с половиной)(?![^\W\d_])"
)
"""Behind a number and a unit: "three hours and a half"."""

_HAN = lazy_pattern(r"([〇零一二两兩三四五六七八九十百千万萬億亿]+)([个個]?(?:小时|時間|点|時)?半)?")
HAN_DIGITS = {**{sign: at for at, sign in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000}
_HAN_LARGE = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}


def values_in_words(text: str) -> Iterator[float]:
    """The values of all numbers in words of a text in lower case; linear time."""
    for number in _NUMBER.finditer(text):
        yield from _values(number)
    for part in _PART.finditer(text):
        yield from _PARTS[part.group()]
    for number in _AND_A_HALF.finditer(text):
        yield _HALF + _small(number[1])
    for number in _HAN.finditer(text):
        yield _han(number[1]) + (_HALF if number[2] else 0)


def _small(word: str) -> float:
    """The value of a number of one word or in digits; one for an article or another word."""
    return float(word) if word.isdecimal() and len(word) < 4 else SMALL.get(word, 1.0)


def _values(number: re.Match[str]) -> Iterator[float]:
    """The value of the number, or of each one that follows another: "two three", "nineteen ninety"."""
    total = part = last = 0.0
    for single, und, german, italian in [*_ATOMS.findall(number.group()), ("", "", "", "")]:
        atom = single or german or italian
        scale = SCALES.get(atom, 0)
        if atom in _HALVES:
            part += _HALF
        elif scale > _HUNDRED:
            is_larger = 0 < total < scale
            total, part = (total + part) * scale if is_larger else total + (part or 1) * scale, 0.0
        elif scale:
            part = (part or 1) * scale
        elif atom and _continues(part, SMALL[atom], after_und=bool(und)):
            part += SMALL[atom]
        else:
            value = total + part
            yield value
            if last and value < _HUNDRED:
                yield _HUNDRED * last + value
            last, total, part = value, 0.0, SMALL.get(atom, 0.0)


def _continues(part: float, value: float, *, after_und: bool) -> bool:
    """Whether a number continues one: 5 after 20 or 100, 20 after "5 und", 15 after 60 in French."""
    rest = part % _HUNDRED
    if not rest:
        return not part or value < _HUNDRED
    if value < 10:
        return rest >= 20 and rest % 10 == 0
    return (after_und and rest < 10) or (rest in (60, 80) and value < 20)


def in_digits(text: str) -> str:
    """The text with each Chinese or Japanese number in digits: "五月七日" is "5月7日"."""
    return _HAN.sub(lambda number: f"{int(_han(number[1]))}", text)


def _han(signs: str) -> float:
    """The value of a Chinese or Japanese number."""
    total = part = digit = 0
    for sign in signs[:20]:
        if sign in HAN_DIGITS:
            digit = 10 * digit + HAN_DIGITS[sign]
        elif sign in _HAN_SCALES:
            part, digit = part + (digit or 1) * _HAN_SCALES[sign], 0
        else:
            total, part, digit = total + (part + digit or 1) * _HAN_LARGE[sign], 0, 0
    return float(total + part + digit)
