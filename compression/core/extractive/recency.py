"""Drops outdated reports on the state of the work: old plans and blockers become context, Done stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.notes import Note
from compression.core.extractive.section_cues import DONE
from compression.core.sections import CONTEXT, STATE

RECENT_SHARE = 0.25
"""The share of notes, from the end, within which a plan, a gap or a blocker counts as current."""


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
