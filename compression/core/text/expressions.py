"""Regular expressions made of lists of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compression.core.lazy_pattern import lazy_pattern

_UNSPACED = lazy_pattern(r"[\u3040-\u9fff]")
"""The letters of Chinese and Japanese, whose words have no spaces between them."""


def one_of(words: Iterable[str]) -> str:
    """An expression of any of the words, the longest first.

    Words with one first letter stand together, as a search then tries a few of them at each place instead of all.
    """
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())


def any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    """A pattern for texts in lower case: whole words by any of the expressions; any letters in Chinese and Japanese.

    Alternatives with one first letter stand together, as in `one_of`, in their order.
    """
    words: dict[str, list[str]] = {}
    letters: list[str] = []
    for alternative in (one for expression in expressions for one in alternatives(expression)):
        if _UNSPACED.search(alternative):
            letters.append(alternative)
        else:
            begins = alternative[0] if alternative[0].isalpha() and alternative[1:2] not in ("?", "*", "+", "{") else ""
            words.setdefault(begins, []).append(alternative.removeprefix(begins))
    whole = "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in words.items())
    return lazy_pattern("|".join((rf"\b(?:{whole})\b", *letters)))


def alternatives(expression: str) -> Iterator[str]:
    """The parts of an expression between the bars that stand in no bracket."""
    depth = start = 0
    for place, sign in enumerate(expression):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            yield expression[start:place]
            start = place + 1
    yield expression[start:]
