"""Renders selected notes as a summary under the five headings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from compression.core.extractive.notes import MENTIONED, PROMPT, Note
from compression.core.extractive.section_cues import STATES
from compression.core.extractive.segmentation import TECHNICAL, UnitKind
from compression.core.sections import CONTEXT, DECISIONS, FILES, SECTIONS, STATE, SUMMARY
from compression.core.text.quoting import QUOTE, disarmed
from compression.core.text.relative_dates import written
from compression.core.text.sentences import stopped
from compression.core.text.statements import USER

NOTHING = "-"


def render_summary(notes: Sequence[Note], *, sparse: bool = False) -> str:
    """A summary of the notes, which must be in the order of the conversation.

    A heading without notes has a dash below it; in a `sparse` summary it is omitted.
    """
    by_section: dict[str, list[Note]] = {f"## {name}": [] for name in SECTIONS}
    for note in notes:
        by_section[note.phrase.section].append(note)
    bodies = {
        SUMMARY: [stopped(note.phrase.text) for note in by_section[SUMMARY]],
        DECISIONS: _distinct(f"- {_with_speaker(note)}" for note in by_section[DECISIONS]),
        FILES: _distinct(f"- {note.phrase.label}: {note.phrase.text}" for note in by_section[FILES]),
        STATE: _states(by_section[STATE]),
        CONTEXT: _context(by_section[CONTEXT]),
    }
    shown = {heading: lines for heading, lines in bodies.items() if any(lines) or not sparse}
    text = "\n\n".join("\n".join([heading, *(lines if any(lines) else [NOTHING])]) for heading, lines in shown.items())
    return disarmed(text)


def _with_speaker(note: Note) -> str:
    """The note's text preceded by its speaker, unless that is the person."""
    return f"{note.speaker}: {note.phrase.text}" if note.speaker not in ("", USER) else note.phrase.text


def _distinct(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def _states(notes: Sequence[Note]) -> list[str]:
    states = {
        label: " ".join(_distinct(_with_speaker(note) for note in notes if note.phrase.label == label))
        for label in STATES
    }
    return [f"{label}: {text}" for label, text in states.items() if text]


def _context(notes: Sequence[Note]) -> list[str]:
    """The lines of the context section: one for neighbouring sentences of a speaker, and one per technical note.

    Lines that a tool printed, or that a speaker wrote as code, stand quoted below the first of them, which names it.

    A stretch ends with one line of its mentions; a heading with the date stands where the day changes.
    """
    lines: list[str] = []
    day: date | None = None
    stretch: list[Note] = []
    for note in notes:
        if stretch and note.stretch != stretch[0].stretch:
            lines += _lines_of(stretch)
            stretch = []
        if note.day and note.day != day:
            lines.append(f"### {written(note.day)}")
            day = note.day
        stretch.append(note)
    return lines + _lines_of(stretch)


def _lines_of(stretch: Sequence[Note]) -> list[str]:
    lines: list[str] = []
    mentions: list[str] = []
    speaking: str | None = None
    printing: str | None = None
    for note in stretch:
        text = note.phrase.text
        if note.phrase.kind is UnitKind.MENTION:
            mentions.append(text)
        elif note.phrase.kind in TECHNICAL:
            line = f"{PROMPT}{text}" if note.phrase.kind is UnitKind.COMMAND else text
            is_first = note.speaker and note.speaker != printing
            lines.append(f"{note.speaker}: {line}" if is_first else f"{QUOTE}{line}")
            speaking, printing = None, note.speaker
            continue
        elif note.speaker and note.speaker == speaking:
            lines[-1] += f" {text}"
        else:
            lines.append(f"{note.speaker}: {text}" if note.speaker else f"- {text}")
            speaking = note.speaker
        printing = None
    return [*lines, *([MENTIONED + ", ".join(mentions)] if mentions else [])]
