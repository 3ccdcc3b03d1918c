"""Finds the files that a history changed, and how, from its commands and from statements about the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compression.core.extractive.notes import Note, phrase_of
from compression.core.extractive.section_cues import reports_change
from compression.core.extractive.segmentation import TECHNICAL, UnitKind
from compression.core.facts.file_acts import READ, Paths
from compression.core.sections import FILES
from compression.core.text.patterns import CHUNK, kind_of, runs_of
from compression.core.text.terms import terms_of
from compression.core.tokens import TokenCounter

_COMMANDS = (
    ("created", re.compile(r"(?:create|touch|mkdir|new_file|create_file|write_file|write|add_file)\b", re.IGNORECASE)),
    ("deleted", re.compile(r"(?:rm|delete|del|remove|git rm|delete_file|remove_file)\b", re.IGNORECASE)),
    ("moved", re.compile(r"(?:mv|git mv|rename|move|move_file|rename_file)\b", re.IGNORECASE)),
    (
        "edited",
        re.compile(
            r"(?:edit|insert|str_replace\w*|replace|patch|apply_patch|sed -i|append|update|edit_file|modify)\b",
            re.IGNORECASE,
        ),
    ),
)
_OPENS = re.compile(r"(?:open|goto|cat|less|view|vim?|nano|find_file|read_file)\b", re.IGNORECASE)
_MAX_CHANGE_CHARS = 240
READ_WEIGHT, CHANGED_WEIGHT = 0.3, 4.0
"""The weight of a file that was only read, and of one that a command or a tool changed."""


def changes_of(notes: Sequence[Note], count: TokenCounter) -> list[Note]:
    """One note "path: acts" for every file that was changed or that a tool read, in the order of their first acts."""
    changes: dict[str, dict[str, Note]] = {}
    known = Paths()
    current = ""
    for note in notes:
        paths = _paths(note.phrase.text) if note.phrase.kind in _SOURCES else []
        if note.phrase.kind is UnitKind.FILE:
            done = changes.setdefault(known.known(note.phrase.label), {})
            if note.phrase.text != READ or set(done) <= {READ}:
                done.pop(READ, None)
                done.pop(note.phrase.text, None)
                done[note.phrase.text] = note
        elif note.phrase.kind is UnitKind.COMMAND:
            change = next((kind for kind, verb in _COMMANDS if verb.match(note.phrase.text)), "")
            if change and (paths or current):
                changes.setdefault(paths[-1] if paths else current, {})[change] = note
            if paths and (change or _OPENS.match(note.phrase.text)):
                current = paths[-1]
        elif len(paths) == 1 and note.phrase.kind not in TECHNICAL and reports_change(note.phrase.text):
            changes.setdefault(paths[0], {})[note.phrase.text] = note
    return [_change(path, evidence, count) for path, evidence in changes.items()]


_SOURCES = frozenset({UnitKind.COMMAND, UnitKind.STATEMENT, UnitKind.FIRST_PERSON, UnitKind.ADDRESS, UnitKind.NOTE})


def _paths(text: str) -> list[str]:
    shapes = (kind_of(run) for chunk in CHUNK.findall(text) for run in runs_of(chunk))
    return [shape[1] for shape in shapes if shape and shape[0] == "path"]


def _change(path: str, evidence: dict[str, Note], count: TokenCounter) -> Note:
    """The note of one file: the changes made by commands; without any, the latest statement about it, quoted.

    `evidence` are the notes of its changes, by the kind of change or the statement's text.
    """
    commands = [change for change, note in evidence.items() if note.phrase.kind in (UnitKind.COMMAND, UnitKind.FILE)]
    last = next(reversed(evidence.values()))
    text = ", ".join(commands) or f'{last.speaker}: "{_short(last.phrase.text)}"'.removeprefix(": ")
    phrase = phrase_of(UnitKind.FILE, text, count, FILES, path)
    tokens = phrase.tokens + count(path) + 2
    terms = tuple(dict.fromkeys(terms_of(path) + phrase.terms))
    weight = READ_WEIGHT if text == READ else CHANGED_WEIGHT if commands else 1.0
    return Note(replace(phrase, tokens=tokens, terms=terms), last.speaker, last.day, last.stretch, weight)


def _short(statement: str) -> str:
    """The statement, cut at a word where it is long."""
    if len(statement) <= _MAX_CHANGE_CHARS:
        return statement
    return f"{statement[:_MAX_CHANGE_CHARS].rpartition(' ')[0] or statement[:_MAX_CHANGE_CHARS]} …"


def merged(notes: Iterable[Note], count: TokenCounter) -> list[Note]:
    """The notes merged into one per path, their texts in order."""
    by_path: dict[str, list[Note]] = {}
    for note in notes:
        by_path.setdefault(note.phrase.label, []).append(note)
    return [_merge(same, count) for same in by_path.values()]


def _merge(notes: list[Note], count: TokenCounter) -> Note:
    if len(notes) == 1:
        return notes[0]
    text = ", ".join(dict.fromkeys(note.phrase.text for note in notes))[-320:]
    phrase = notes[-1].phrase
    cost = phrase.tokens + count(text) - count(phrase.text)
    return replace(notes[-1], phrase=replace(phrase, text=text, tokens=cost), weight=max(note.weight for note in notes))
