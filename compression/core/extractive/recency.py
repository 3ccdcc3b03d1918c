"""What still holds of what was said about the state of the work: plans grow old, what is done stays done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.notes import Note
from compression.core.extractive.section_cues import DONE
from compression.core.sections import CONTEXT, STATE

RECENT = 0.25
"""Part of the notes, from the end, within which a plan, a gap or a blocker counts as standing."""


def current(notes: Sequence[Note]) -> list[Note]:
    """The notes, in which states other than Done are context unless they are recent or the last that was heard."""
    latest = {note.phrase.label: number for number, note in enumerate(notes) if note.phrase.section == STATE}
    recent = (1 - RECENT) * len(notes)
    return [
        note if number >= min(recent, latest.get(note.phrase.label, 0)) else _past(note)
        for number, note in enumerate(notes)
    ]


def _past(note: Note) -> Note:
    if note.phrase.section != STATE or note.phrase.label == DONE:
        return note
    return replace(note, phrase=replace(note.phrase, section=CONTEXT, label=""))
