"""Mentions: notes of a single path, identifier or number, which can be selected without the line that contains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from compression.core.caching import cached_texts
from compression.core.extractive.notes import MUST_WEIGHT, Note, Phrase, phrase_of
from compression.core.extractive.segmentation import UnitKind
from compression.core.lazy_pattern import lazy_pattern
from compression.core.sections import CONTEXT
from compression.core.text.listings import stands_for_listing
from compression.core.text.patterns import CHUNK, kind_of, parts_of
from compression.core.text.stopwords import ENGLISH
from compression.core.text.terms import parts
from compression.core.tokens import TokenCounter

_JOINT = lazy_pattern(r"[a-z]+\.(?:" + "|".join(word.capitalize() for word in sorted(ENGLISH) if word.isalpha()) + ")")
"""The end of a sentence joined to the next one's first word without a space; not an identifier."""

_PRINTED = frozenset({UnitKind.OUTPUT, UnitKind.CODE, UnitKind.BODY})


def with_mentions(notes: Sequence[Note], count: TokenCounter) -> list[Note]:
    """The notes, each followed by mentions of the values that occur in it first."""
    result: list[Note] = []
    seen: set[str] = set()
    for note in notes:
        result.append(note)
        if note.phrase.kind is UnitKind.MENTION:
            seen.add(note.phrase.text.lower())
        elif note.phrase.section == CONTEXT and note.weight < MUST_WEIGHT and not _is_part_of_many(note.phrase):
            for phrase in _mentions(note.phrase.text, count):
                if phrase.text.lower() not in seen:
                    seen.add(phrase.text.lower())
                    result.append(replace(note, phrase=phrase))
    return result


def repeated(notes: Sequence[Note], chosen: Iterable[int]) -> set[int]:
    """Indexes of the chosen mentions whose values are also in chosen lines."""
    mentions = {number for number in chosen if notes[number].phrase.kind is UnitKind.MENTION}
    if not mentions:
        return mentions
    lines = set(chosen) - mentions
    covered = {
        text for number in lines for term in notes[number].phrase.terms for text in (term.text, *parts(term.text))
    }
    return {number for number in mentions if all(term.text in covered for term in notes[number].phrase.terms)}


def _is_part_of_many(phrase: Phrase) -> bool:
    """Whether a line is one of many like it, whose values say nothing alone."""
    return is_row_of_figures(phrase) or stands_for_listing(phrase.text)


def is_row_of_figures(phrase: Phrase) -> bool:
    """Whether a printed line has five numbers or more and little else, as a progress bar does."""
    figures = sum(term.sort == "number" for term in phrase.terms)
    return phrase.kind in _PRINTED and figures >= 5 and 3 * figures >= 2 * len(phrase.terms)


@cached_texts(chars=500_000)
def _mentions(text: str, count: TokenCounter) -> tuple[Phrase, ...]:
    return tuple(phrase_of(UnitKind.MENTION, value, count) for value in dict.fromkeys(_values(text)))


def _values(text: str) -> Iterator[str]:
    """Paths and identifiers of a text, and its numbers together with the words beside them, which give them meaning."""
    for match in CHUNK.finditer(text):
        at = match.start()
        for part in parts_of(match.group()):
            at = text.index(part, at)
            if "://" in part:
                yield part.rstrip(".:")
            elif (shape := kind_of(part)) and not _JOINT.fullmatch(part):
                kind, value = shape
                yield value if kind != "plain" else _beside(text, at, at + len(part), value)


def _beside(text: str, start: int, end: int, number: str) -> str:
    before, after = text[max(0, start - 24) : start].split(), text[end : end + 24].split()
    words = [before[-1] if before else "", number, after[0] if after else ""]
    return " ".join(word.strip(",;()[]") for word in words if word == number or word.strip(",;()[]").isalpha())
