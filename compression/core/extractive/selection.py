"""Selects the notes of a summary: rules, a headline, notes of every stretch, then the best of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.coverage import Coverage
from compression.core.extractive.mentions import repeated, with_mentions
from compression.core.extractive.notes import MUST_WEIGHT, Note, phrase_of
from compression.core.extractive.rendering import render_summary
from compression.core.extractive.segmentation import UnitKind
from compression.core.extractive.weighing import FACT_FACTOR, coverage_of, is_technical
from compression.core.sections import CONTEXT, DECISIONS, FILES, STATE, SUMMARY
from compression.core.tokens import TokenCounter

MUSTS_SHARE = 0.3
"""The share of the room that the person's rules may take."""
HEADLINE_SHARE = 0.12
MAX_HEADLINE_TOKENS = 60
"""The most tokens of new statements under the first heading; none are added if it has statements already."""

MIN_HEADLINE_TERMS = 3
"""The least terms of the sentence that a conversation begins with: "How have you been?" has none."""
STANDING_SHARE = 0.25

SECTION_SHARES = {FILES: 0.2, DECISIONS: 0.08, STATE: 0.06}
"""The shares of the room that are reserved for these sections; they may get more in the general selection."""

FLOOR_SHARE = 0.4
"""The share of the room given to the stretches by their size, before the best of all notes are selected."""

_SLACK = 1.1
_HEADLINES = frozenset({UnitKind.FIRST_PERSON, UnitKind.STATEMENT, UnitKind.NOTE})
_BEGINNINGS = frozenset({UnitKind.FIRST_PERSON, UnitKind.STATEMENT, UnitKind.ADDRESS, UnitKind.QUESTION})


def fitted(
    notes: Sequence[Note],
    names: frozenset[str],
    max_tokens: int,
    count: TokenCounter,
    *,
    sparse: bool = False,
    musts_share: float = MUSTS_SHARE,
    valued: frozenset[str] = frozenset(),
    fact_factor: float = FACT_FACTOR,
) -> str:
    """The summary of the best notes, in their order, within `max_tokens`.

    Notes of at least MUST_WEIGHT are selected first, up to `musts_share` of the room. `valued` are the terms of facts,
    which weigh `fact_factor` times as much.
    """
    empty = render_summary([], sparse=sparse)
    room = max_tokens - count(empty)
    if room <= 0:
        return _cut(empty, max_tokens, count)
    if is_technical(notes):
        notes = with_mentions(notes, count)
    order, notes = _chosen(notes, coverage_of(notes, names, valued, fact_factor), room, count, musts_share)
    while order:
        shown = sorted(set(order) - repeated(notes, order))
        text = render_summary([notes[number] for number in shown], sparse=sparse)
        over = count(text) - max_tokens
        if over <= 0:
            return text
        while order and over > 0:
            over -= notes[order.pop()].phrase.tokens
    return empty if sparse else _beginning(notes, max_tokens, count) or empty


def _beginning(notes: Sequence[Note], max_tokens: int, count: TokenCounter) -> str:
    """A summary of the first words of the heaviest note, if no whole note fits; "" if not even a word does."""
    if not notes:
        return ""
    note = max(notes, key=lambda note: note.weight)
    words = note.phrase.text.split()
    while words:
        phrase = replace(note.phrase, text=f"{' '.join(words)} …")
        text = render_summary([replace(note, phrase=phrase)])
        if count(text) <= max_tokens:
            return text
        words = words[: len(words) * 3 // 4]
    return ""


def _chosen(
    notes: Sequence[Note], coverage: Coverage, room: int, count: TokenCounter, musts_share: float
) -> tuple[list[int], Sequence[Note]]:
    """(indexes of the selected notes in order of selection, the notes with headlines); slightly more than fit."""
    coverage.fill([number for number, note in enumerate(notes) if note.weight >= MUST_WEIGHT], musts_share * room)
    standing = [number for number, note in enumerate(notes) if note.phrase.section == SUMMARY]
    coverage.fill(standing, STANDING_SHARE * room)
    if not standing:
        notes = _headlined(notes, coverage, min(MAX_HEADLINE_TOKENS, HEADLINE_SHARE * room), count)
    for section, share in SECTION_SHARES.items():
        numbers = [number for number, note in enumerate(notes) if note.phrase.section == section]
        coverage.fill(numbers, share * room)
    coverage.floors(FLOOR_SHARE * room, _sizes(notes))
    coverage.fill(range(len(notes)), _SLACK * room - coverage.spent)
    if spare := repeated(notes, coverage.chosen):  # only once: further rounds would gain little for the same work
        coverage.refund(spare)
        coverage.fill(range(len(notes)), _SLACK * room - coverage.spent)
    return coverage.chosen, notes


def _headlined(notes: Sequence[Note], coverage: Coverage, budget: float, count: TokenCounter) -> Sequence[Note]:
    """The notes with at most two of them under the first heading: the beginning of the conversation, and the most
    valuable.
    """
    lines = list(notes)
    begins = next((number for number, note in enumerate(notes) if _begins(note)), None)
    ranked = sorted(
        (number for number, note in enumerate(notes) if _is_headline(note)),
        key=lambda number: -coverage.value(number),
    )
    for number in ([] if begins is None else [begins]) + [number for number in ranked[:20] if number != begins]:
        line = _headline(notes[number], count)
        if line.phrase.tokens <= budget:
            budget -= line.phrase.tokens
            lines[number] = line
            coverage.take(number)
            if sum(note.phrase.section == SUMMARY for note in lines) == 2:
                break
    return lines


def _begins(note: Note) -> bool:
    """Whether the note can introduce a conversation: a sentence of a person or model, not a mere greeting."""
    says_enough = bool(note.speaker) and len(note.phrase.terms) >= MIN_HEADLINE_TERMS
    is_free = note.phrase.section == CONTEXT and note.weight < MUST_WEIGHT and note.phrase.text[:1] != '"'
    return says_enough and is_free and note.phrase.kind in _BEGINNINGS


def _is_headline(note: Note) -> bool:
    return (
        note.phrase.kind in _HEADLINES
        and note.phrase.section == CONTEXT
        and note.weight < MUST_WEIGHT
        and note.phrase.text[:1] != '"'
    )


def _headline(note: Note, count: TokenCounter) -> Note:
    text = f"{note.speaker}: {note.phrase.text}" if note.speaker else note.phrase.text
    return replace(note, phrase=phrase_of(note.phrase.kind, text, count, SUMMARY))


def _sizes(notes: Sequence[Note]) -> list[float]:
    """Tokens of each stretch's notes."""
    sizes = [0.0] * (1 + max((note.stretch for note in notes), default=0))
    for note in notes:
        sizes[note.stretch] += note.phrase.tokens
    return sizes


def _cut(text: str, max_tokens: int, count: TokenCounter) -> str:
    while text and count(text) > max_tokens:
        text = text[:-1].rstrip()
    return text or "-"
