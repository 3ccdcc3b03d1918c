"""The summariser without a model: selects whole sentences of the source, in their order, and adds nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.changes import changes_of, merged
from compression.core.extractive.notes import MUST_WEIGHT, Note, notes_of, phrase_of
from compression.core.extractive.section_cues import DONE
from compression.core.extractive.segmentation import UnitKind
from compression.core.extractive.selection import MUSTS_SHARE, fitted
from compression.core.extractive.summary_notes import notes_of_summary
from compression.core.extractive.weighing import FACT_FACTOR, STANDING_FACT_FACTOR
from compression.core.facts.find import normalised
from compression.core.ledger.rules import find_rules
from compression.core.sections import CONTEXT, DECISIONS, FILES, STATE, SUMMARY
from compression.core.text.sentences import clean, one_line
from compression.core.text.statements import speaker_of
from compression.core.text.terms import terms_of
from compression.core.tokens import TokenCounter, count_tokens
from compression.core.values import CountedFact, Fact, Passage, SummariserOutput, Turn

RECENT_SHARE = 0.25
"""The share of notes, from the end, within which a plan, a gap or a blocker counts as current."""

STANDING_MUSTS_SHARE = 0.85
"""The share of the room for rules and decisions where those of an earlier summary stand."""

CHOSEN_FACTOR = 2.0
"""The weight of a sentence of a summary of the same turns, relative to sentences of the turns."""


class Extractive:
    """A deterministic `Summariser` without model, network or window; it takes milliseconds."""

    name = "extractive"
    window: int | None = None
    provisional = False
    fills_budget = True
    marks_progress = False

    async def summarise(self, passage: Passage) -> SummariserOutput:
        text = await asyncio.to_thread(
            extract,
            passage.turns,
            earlier=passage.earlier,
            max_tokens=passage.max_tokens,
            count=count_tokens,
            facts=passage.facts,
            taken_back=passage.taken_back,
        )
        return SummariserOutput(text)


def extract(
    turns: Sequence[Turn],
    *,
    earlier: str,
    max_tokens: int,
    count: TokenCounter,
    sparse: bool = False,
    covers: bool = False,
    facts: Sequence[Fact] | Sequence[CountedFact] = (),
    taken_back: Sequence[str] = (),
) -> str:
    """A summary of `turns`, including the summary `earlier`, of at most `max_tokens` as `count` counts them.

    Never raises; equal input gives equal text. A limit below the five headings (about 25 tokens) returns only a part
    of them. `sparse` omits headings without content, so the text may be "". `covers`: `earlier` is of the same turns;
    its headline stays, its decisions are selected first, its other sentences are preferred. Sentences with one of the
    `facts` are preferred, those that were `taken_back` are left out.
    """
    names = frozenset(speaker_of(turn).lower() for turn in turns if turn.name)
    old = _distinct(notes_of_summary(earlier, count))
    if covers:
        old = [_preferred(note) for note in old]
    elif turns:  # the earlier headlines do not cover the new turns
        old = [_as_context(note) for note in old]
    new = notes_of(turns, count, first_stretch=1 + max((note.stretch for note in old), default=-1))
    changed = merged([note for note in old if note.phrase.section == FILES] + changes_of(new, count), count)
    rules = _rules(turns, count)
    others = current([note for note in (*old, *new) if note.phrase.section != FILES])
    left_out = {_bare(text) for text in taken_back}
    notes = [note for note in (*rules, *changed, *others) if _bare(note.phrase.text) not in left_out]
    return fitted(
        notes,
        names,
        max_tokens,
        count,
        sparse=sparse,
        musts_share=STANDING_MUSTS_SHARE if covers else MUSTS_SHARE,
        valued=frozenset(term.text for fact in facts for term in terms_of(fact.text)),
        fact_factor=STANDING_FACT_FACTOR if sparse else FACT_FACTOR,
    )


def _distinct(notes: Sequence[Note]) -> list[Note]:
    """The notes of summaries one after the other, without what an earlier one of them says in the same words."""
    first: dict[tuple[str, str, str], Note] = {}
    for note in notes:
        first.setdefault((note.phrase.section, note.speaker, note.phrase.text), note)
    return list(first.values())


def _bare(text: str) -> str:
    return normalised(text).rstrip(".!。！")


def _as_context(note: Note) -> Note:
    return replace(note, phrase=replace(note.phrase, section=CONTEXT)) if note.phrase.section == SUMMARY else note


def _preferred(note: Note) -> Note:
    """A note of an earlier summary of the same turns, whose author chose it for its content."""
    return replace(note, weight=MUST_WEIGHT if note.phrase.section == DECISIONS else CHOSEN_FACTOR * note.weight)


def _rules(turns: Sequence[Turn], count: TokenCounter) -> list[Note]:
    """Notes of the person's rules, verbatim, with the weight that selects them first."""
    return [
        Note(
            phrase_of(UnitKind.NOTE, one_line(rule), count, DECISIONS),
            speaker_of(turn),
            turn.created_at.date(),
            0,
            MUST_WEIGHT,
        )
        for turn in turns
        if turn.is_typed
        for rule in find_rules(clean(turn.typed))
        if one_line(rule)
    ]


def current(notes: Sequence[Note]) -> list[Note]:
    """The notes; a state other than Done becomes context unless it is recent or the latest with its label."""
    latest = {note.phrase.label: number for number, note in enumerate(notes) if note.phrase.section == STATE}
    recent = (1 - RECENT_SHARE) * len(notes)
    return [
        note if number >= min(recent, latest.get(note.phrase.label, 0)) else _past(note)
        for number, note in enumerate(notes)
    ]


def _past(note: Note) -> Note:
    if note.phrase.section != STATE or note.phrase.label == DONE:
        return note
    return replace(note, phrase=replace(note.phrase, section=CONTEXT, label=""))
