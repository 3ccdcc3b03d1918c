"""Reads the numbers of a text as values, however they are written: "1,200", "1.2k" and "twelve hundred" are one."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(
    r"(\d(?:[\d.,'’_\u00a0\u202f]{0,30}\d)?)[ \u00a0-]?"
    r"(?:(k|m|mn|mio|million(?:s|en)?|millionen|millones|milioni|милли\w{1,4}|b|bn|billion|mrd|thousand|tausend|mille?|mil"
    r"|mila|тыс\w{0,3}|hundred|dozen|lakh|crore)(?![^\W\d_])|([%‰百千万萬億亿兆]))?",
    re.IGNORECASE,
)
_SCALES = {
    "k": 1e3, "thousand": 1e3, "tausend": 1e3, "mil": 1e3, "mill": 1e3, "mille": 1e3, "mila": 1e3, "hundred": 1e2,
    "dozen": 12, "lakh": 1e5, "crore": 1e7, "b": 1e9, "bn": 1e9, "billion": 1e9, "mrd": 1e9,
    "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12, "%": 1e-2, "‰": 1e-3,
}  # fmt: skip
_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_PARTS = {"half": (0.5, 50, 30), "quarter": (0.25, 25, 15), "twice": (2, 200), "double": (2, 200), "couple": (2,),
          "dozen": (12,), "fortnight": (14, 2), "decade": (10,), "century": (100,), "score": (20,)}  # fmt: skip
_OTHERS = {
    20: "zwanzig vingt veinte venti vinte двадцать двадцати",
    30: "dreißig dreissig trente treinta trenta trinta тридцать тридцати",
    40: "vierzig quarante cuarenta quaranta quarenta сорок сорока",
    50: "fünfzig cinquante cincuenta cinquanta cinquenta пятьдесят пятидесяти",
    60: "sechzig soixante sesenta sessanta sessenta шестьдесят шестидесяти",
    70: "siebzig septante setenta settanta семьдесят семидесяти",
    80: "achtzig huitante octante ochenta ottanta oitenta восемьдесят восьмидесяти",
    90: "neunzig nonante noventa novanta девяносто девяноста",
    100: "hundert cent cien ciento cento cem сто",
    1000: "tausend mille mil тысяча тысячи тысяч",
}
_WORDS = {word: float(value) for value, words in _OTHERS.items() for word in words.split()}
_LARGE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_ANY = "|".join(sorted((*_SMALL, *_PARTS, *_WORDS, *_LARGE), key=len, reverse=True))
_RUN = re.compile(rf"(?<![^\W\d_])(?:{_ANY})(?:[ -](?:and )?(?:{_ANY})){{0,7}}(?![^\W\d_])")
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[〇零一二两兩三四五六七八九十百千万萬億亿]+")
_HAN_DIGITS = {**{sign: at for at, sign in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000}
_HAN_LARGE = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}

_PART = re.compile(r"\d{1,15}")
_TIME = re.compile(
    r"(\d[\d.,]{0,12})[ -]?(?:(ms|milliseconds?)|(s|secs?|seconds?)|(min|mins?|minutes?)|(h|hrs?|hours?)|(days?)"
    r"|(weeks?)|(months?)|(years?))(?![^\W\d_])",
    re.IGNORECASE,
)
_TIME_UNITS = (1e-3, 1, 60, 3_600, 86_400, 604_800, 2_592_000, 31_536_000)

MAX_DIGITS = 15
"""The most digits of a number that is compared by its value; a longer one is compared by its digits."""


def values_in(text: str) -> set[float]:
    """The values of all numbers of a text, in digits or words, each with and without its scale; linear time."""
    found: set[float] = set()
    for number in _NUMBER.finditer(text):
        found.update(_of(number))
        if not number[1].isdigit():  # a pair or a list may be written like a number
            found.update(map(float, _PART.findall(number[1])))
    found.update(_worded(text))
    found.update(map(_han, _HAN.findall(text)))
    return found


def values_of(number: str) -> set[float]:
    """The values that a single number of a statement can mean."""
    first = _NUMBER.search(number)
    return set(_of(first)) if first else set()


def seconds_in(text: str) -> set[float]:
    """The durations of a text in seconds."""
    found: set[float] = set()
    for match in _TIME.finditer(text):
        unit = next(scale for scale, name in zip(_TIME_UNITS, match.groups()[1:], strict=True) if name)
        found.update(_rounded(value * unit) for value in _readings(match[1].rstrip(".,")))
    return found


def in_other_units(seconds: float) -> set[float]:
    """The number of each unit of time that a duration is."""
    return {_rounded(seconds / unit) for unit in _TIME_UNITS}


def roundings(values: set[float]) -> set[float]:
    """The values rounded to one to three significant digits."""
    return {_rounded(float(f"{value:.{digits}g}")) for value in values for digits in (1, 2, 3)}


def _of(number: re.Match[str]) -> Iterator[float]:
    scale = (number[2] or number[3] or "").lower()
    for value in _readings(number[1]):
        yield value
        if scale:
            yield _rounded(value * _scale(scale))


def _scale(name: str) -> float:
    if name in _SCALES:
        return _SCALES[name]
    return 1e6  # a million, by any of its names


def _readings(digits: str) -> Iterator[float]:
    """The values of a number whose separators may be of thousands or of decimals."""
    plain = re.sub(r"['’_\u00a0\u202f]", "", digits)
    if len(plain) > MAX_DIGITS + 5:
        return
    for text in {plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}:
        try:
            yield _rounded(float(text))
        except ValueError:  # several full stops: a version or an address
            continue


def _worded(text: str) -> Iterator[float]:
    """The values of numbers in words, in English; tens and hundreds in other languages too."""
    for run in _RUN.finditer(text):
        yield from _of_words(_WORD.findall(run.group()))


def _of_words(words: list[str]) -> Iterator[float]:
    total = part = 0.0
    is_number = False
    for word in [*words, ""]:
        if word in _SMALL:
            yield float(_SMALL[word])
            part, is_number = part + _SMALL[word], True
        elif word == "hundred":
            part, is_number = (part or 1) * 100, True
        elif word in _LARGE:
            total += (part or 1) * _LARGE[word]
            part, is_number = 0.0, True
        elif word == "and" and is_number:
            continue
        else:
            if is_number:
                yield total + part
            total, part, is_number = 0.0, 0.0, False
            yield from _PARTS.get(word, ())
            if word in _WORDS:
                yield _WORDS[word]


def _han(signs: str) -> float:
    """The value of a Chinese or Japanese number."""
    total = part = digit = 0
    for sign in signs[:20]:
        if sign in _HAN_DIGITS:
            digit = 10 * digit + _HAN_DIGITS[sign]
        elif sign in _HAN_SCALES:
            part, digit = part + (digit or 1) * _HAN_SCALES[sign], 0
        else:
            total, part, digit = total + (part + digit or 1) * _HAN_LARGE[sign], 0, 0
    return float(total + part + digit)


def _rounded(value: float) -> float:
    return round(value, 6)
