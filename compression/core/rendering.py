"""Chosen notes to a summary under the five headings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from compression.core.cues import STATES
from compression.core.dates import written
from compression.core.notes import MENTIONED, PROMPT, Note
from compression.core.pieces import TECHNICAL, Kind
from compression.core.said import USER
from compression.core.sections import CONTEXT, DECISIONS, FILES, SECTIONS, STATE, SUMMARY

NOTHING = "-"


def render(notes: Sequence[Note], *, sparse: bool = False) -> str:
    """A summary of the notes, which stand in the order of the conversation.

    A heading without notes holds a dash, or is left out where the summary is to be `sparse`.
    """
    by_section: dict[str, list[Note]] = {f"## {name}": [] for name in SECTIONS}
    for note in notes:
        by_section[note.phrase.section].append(note)
    bodies = {
        SUMMARY: [_stopped(note.phrase.text) for note in by_section[SUMMARY]],
        DECISIONS: _distinct(f"- {_said(note)}" for note in by_section[DECISIONS]),
        FILES: _distinct(f"- {note.phrase.label}: {note.phrase.text}" for note in by_section[FILES]),
        STATE: _states(by_section[STATE]),
        CONTEXT: _context(by_section[CONTEXT]),
    }
    told = {heading: lines for heading, lines in bodies.items() if any(lines) or not sparse}
    return "\n\n".join("\n".join([heading, *(lines if any(lines) else [NOTHING])]) for heading, lines in told.items())


def _said(note: Note) -> str:
    """The note led by who said it, but for what the person typed."""
    return f"{note.speaker}: {note.phrase.text}" if note.speaker not in ("", USER) else note.phrase.text


def _stopped(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?。！？…" else f"{sentence}."


def _distinct(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def _states(notes: Sequence[Note]) -> list[str]:
    told = {
        label: "; ".join(_distinct(note.phrase.text for note in notes if note.phrase.label == label))
        for label in STATES
    }
    return [f"{label}: {text}" for label, text in told.items() if text]


def _context(notes: Sequence[Note]) -> list[str]:
    """Dated, speaker-led lines: one a speaker in every stretch, and one for every command, error or line of code.

    What is mentioned in a stretch ends it, on one line.
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
    lines: dict[tuple[str, int], str] = {}
    mentions: list[str] = []
    for number, note in enumerate(stretch):
        text = note.phrase.text
        if note.phrase.kind is Kind.MENTION:
            mentions.append(text)
        elif note.phrase.kind in TECHNICAL:
            lines["", number] = f"{PROMPT}{text}" if note.phrase.kind is Kind.COMMAND else text
        elif (note.speaker, 0) in lines:
            lines[note.speaker, 0] += f"; {text}"
        else:
            lines[note.speaker, 0] = f"{note.speaker}: {text}" if note.speaker else f"- {text}"
    return [*lines.values(), *([MENTIONED + ", ".join(mentions)] if mentions else [])]
