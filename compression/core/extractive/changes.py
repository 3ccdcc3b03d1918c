"""Which files a history changed, and how: told by its commands and by what was said about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compression.core.extractive.notes import Note, phrase_of
from compression.core.extractive.patterns import CHUNK, kind_of
from compression.core.extractive.segmentation import TECHNICAL, Kind
from compression.core.extractive.terms import terms_of
from compression.core.sections import FILES
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
_SAID = re.compile(
    r"\b(?:creat|add|put|edit|modif|updat|delet|remov|renam|mov|fix|wr[io]te|rewr[io]te|replac|refactor|extract|chang)(?:e[sd]?|ed|ing|ied|ten|d|s)?\b",
    re.IGNORECASE,
)
_MAX_CHANGE_CHARS = 120


def changes_of(notes: Sequence[Note], count: TokenCounter) -> list[Note]:
    """A note "path: what happened to it" for every file that the notes say was changed, by first change."""
    changes: dict[str, dict[str, Note]] = {}
    current = ""
    for note in notes:
        paths = _paths(note.phrase.text) if note.phrase.kind in _TELLING else []
        if note.phrase.kind is Kind.COMMAND:
            change = next((done for done, verb in _COMMANDS if verb.match(note.phrase.text)), "")
            if change and (paths or current):
                changes.setdefault(paths[-1] if paths else current, {})[change] = note
            if paths and (change or _OPENS.match(note.phrase.text)):
                current = paths[-1]
        elif len(paths) == 1 and note.phrase.kind not in TECHNICAL and _SAID.search(note.phrase.text):
            changes.setdefault(paths[0], {})[note.phrase.text] = note
    return [_change(path, told, count) for path, told in changes.items()]


_TELLING = frozenset({Kind.COMMAND, Kind.STATEMENT, Kind.FIRST_PERSON, Kind.ADDRESS, Kind.NOTE})


def _paths(text: str) -> list[str]:
    shapes = (kind_of(chunk) for chunk in CHUNK.findall(text))
    return [shape[1] for shape in shapes if shape and shape[0] == "path"]


def _change(path: str, told: dict[str, Note], count: TokenCounter) -> Note:
    """What was done, then what was last said about it."""
    done = [change for change, note in told.items() if note.phrase.kind is Kind.COMMAND]
    said = [_without(path, change) for change in told if change not in done]
    last = next(reversed(told.values()))
    phrase = phrase_of(Kind.FILE, ", ".join([*done, *said[-1:]]), count, FILES, path)
    tokens = phrase.tokens + count(path) + 2
    terms = tuple(dict.fromkeys(terms_of(path) + phrase.terms))
    return Note(replace(phrase, tokens=tokens, terms=terms), last.speaker, last.day, last.stretch)


def _without(path: str, change: str) -> str:
    return " ".join(change.replace(f"`{path}`", "it").replace(path, "it").split())[:_MAX_CHANGE_CHARS]


def merged(notes: Iterable[Note], count: TokenCounter) -> list[Note]:
    """One note a path: of notes on the same file, what was told first comes first."""
    told: dict[str, list[Note]] = {}
    for note in notes:
        told.setdefault(note.phrase.label, []).append(note)
    return [_merge(same, count) for same in told.values()]


def _merge(notes: list[Note], count: TokenCounter) -> Note:
    if len(notes) == 1:
        return notes[0]
    text = ", ".join(dict.fromkeys(note.phrase.text for note in notes))[-320:]
    phrase = notes[-1].phrase
    cost = phrase.tokens + count(text) - count(phrase.text)
    return replace(notes[-1], phrase=replace(phrase, text=text, tokens=cost), weight=max(note.weight for note in notes))
