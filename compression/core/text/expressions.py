"""Regular expressions made of lists of words."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(words: Iterable[str]) -> str:
    """An expression of any of the words, the longest first.

    Words with one first letter stand together, as a search then tries a few of them at each place instead of all.
    """
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
