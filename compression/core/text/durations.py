"""Reads durations in seconds: "90 min", "1,5 Stunden", "14天".

`durations.toml` has the names of the units in each language.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.expressions import one_of
from compression.core.text.numbers import readings, rounded

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WORDS, SIGNS = (
    {name: float(seconds) for seconds, names in _TABLE[part].items() for name in names.split()}
    for part in ("words", "signs")
)
"""The seconds of a unit by its name, in lower case, of languages with and without spaces between words."""
_UNITS = sorted({*WORDS.values()})
_DURATION = lazy_pattern(
    rf"(\d[\d.,]{{0,12}})(?:[ \u00a0-]?({one_of(WORDS)})(?![^\W\d_])"
    rf"|\s?({one_of(SIGNS)}))"
)


def seconds_in(text: str) -> set[float]:
    """The durations of a text in lower case, in seconds."""
    return {
        rounded(value * (WORDS.get(word) or SIGNS[sign]))
        for number, word, sign in _DURATION.findall(text)
        for value in readings(number.rstrip(".,"))
    }


def in_other_units(seconds: float) -> set[float]:
    """The number of each unit of time that a duration is."""
    return {rounded(seconds / unit) for unit in _UNITS}
