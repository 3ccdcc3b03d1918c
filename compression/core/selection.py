"""Which notes a summary keeps: rules, a headline, something of every stretch, then the best of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compression.core.coverage import Coverage
from compression.core.mentions import repeated, with_mentions
from compression.core.notes import MUST, Note, phrase_of
from compression.core.pieces import Kind
from compression.core.ports import TokenCounter
from compression.core.rendering import render
from compression.core.sections import CONTEXT, DECISIONS, FILES, STATE, SUMMARY
from compression.core.telegraphic import Form, shorten
from compression.core.weighing import coverage_of, is_technical

MUSTS_SHARE = 0.3
HEADLINE_SHARE = 0.12
LONGEST_HEADLINE = 60
"""Tokens of the statements under the first heading, where none stands there already."""

STANDING_SHARE = 0.25

SECTION_SHARES = {FILES: 0.12, DECISIONS: 0.08, STATE: 0.06}
"""Parts of the room that these sections have to themselves, as far as they can fill it; they may win more."""

FLOOR = 0.4
"""Part of the room that is spread over the stretches by their size before the best of all are taken."""

_SLACK = 1.1
_HEADLINES = frozenset({Kind.FIRST_PERSON, Kind.STATEMENT, Kind.NOTE})


def fitted(
    notes: Sequence[Note], names: frozenset[str], max_tokens: int, count: TokenCounter, *, sparse: bool = False
) -> str:
    """The summary of the best notes, in their order, that counts at most `max_tokens`."""
    empty = render([], sparse=sparse)
    room = max_tokens - count(empty)
    if room <= 0:
        return _cut(empty, max_tokens, count)
    if is_technical(notes):
        notes = with_mentions(notes, count)
    order, notes = _chosen(notes, names, room, count)
    while order:
        shown = sorted(set(order) - repeated(notes, order))
        text = render([notes[number] for number in shown], sparse=sparse)
        over = count(text) - max_tokens
        if over <= 0:
            return text
        while order and over > 0:
            over -= notes[order.pop()].phrase.tokens
    return empty


def _chosen(
    notes: Sequence[Note], names: frozenset[str], room: int, count: TokenCounter
) -> tuple[list[int], Sequence[Note]]:
    """Numbers of the chosen notes in the order of choice, a little more than fit, and the notes with their headline."""
    coverage = coverage_of(notes, names)
    coverage.fill([number for number, note in enumerate(notes) if note.weight >= MUST], MUSTS_SHARE * room)
    standing = [number for number, note in enumerate(notes) if note.phrase.section == SUMMARY]
    coverage.fill(standing, STANDING_SHARE * room)
    if not standing:
        notes = _headlined(notes, coverage, min(LONGEST_HEADLINE, HEADLINE_SHARE * room), count)
    for section, share in SECTION_SHARES.items():
        numbers = [number for number, note in enumerate(notes) if note.phrase.section == section]
        coverage.fill(numbers, share * room)
    coverage.floors(FLOOR * room, _sizes(notes))
    coverage.fill(range(len(notes)), _SLACK * room - coverage.spent)
    if spare := repeated(notes, coverage.chosen):  # once: later rounds find little and cost as much again
        coverage.refund(spare)
        coverage.fill(range(len(notes)), _SLACK * room - coverage.spent)
    return coverage.chosen, notes


def _headlined(notes: Sequence[Note], coverage: Coverage, budget: float, count: TokenCounter) -> Sequence[Note]:
    """Take the statements that cover most, at most two, and put them under the first heading in a readable form."""
    lines = list(notes)
    ranked = sorted(
        (number for number, note in enumerate(notes) if _is_headline(note)),
        key=lambda number: -coverage.value(number),
    )
    for number in ranked[:20]:
        line = next((line for line in _headlines(notes[number], count) if line.phrase.tokens <= budget), None)
        if line is not None:
            budget -= line.phrase.tokens
            lines[number] = line
            coverage.take(number)
            if sum(note.phrase.section == SUMMARY for note in lines) == 2:
                break
    return lines


def _is_headline(note: Note) -> bool:
    return (
        note.phrase.kind in _HEADLINES
        and note.phrase.section == CONTEXT
        and note.weight < MUST
        and note.phrase.text[:1] != '"'
    )


def _headlines(note: Note, count: TokenCounter) -> Iterator[Note]:
    """The note as a headline: whole, and readable but shorter."""
    for form in (Form.WHOLE, Form.READABLE):
        text = shorten(note.phrase.source, form) if note.phrase.source else note.phrase.text
        told = f"{note.speaker}: {text}" if note.speaker else text
        yield replace(note, phrase=phrase_of(note.phrase.kind, told, count, SUMMARY))


def _sizes(notes: Sequence[Note]) -> list[float]:
    sizes = [0.0] * (1 + max((note.stretch for note in notes), default=0))
    for note in notes:
        sizes[note.stretch] += note.phrase.tokens
    return sizes


def _cut(text: str, max_tokens: int, count: TokenCounter) -> str:
    while text and count(text) > max_tokens:
        text = text[:-1].rstrip()
    return text or "-"
