"""Notes: the short forms of a history's pieces, each with what it is about, who said it, when, and where it belongs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import get_args

from compression.core.cues import section_of
from compression.core.dates import resolve
from compression.core.pieces import TECHNICAL, Kind, Piece, pieces_of
from compression.core.ports import TokenCounter
from compression.core.sections import CONTEXT
from compression.core.sentences import clean, one_line, split_long
from compression.core.telegraphic import Form, shorten
from compression.core.terms import Term, terms_of
from compression.core.values import Role, ToolUse, Turn


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece in its short form, with what it tells; `source` is the sentence before.

    `label` is the path of a file's change, or the state that is told (Done, Next …).
    """

    kind: Kind
    text: str
    tokens: int
    terms: tuple[Term, ...]
    pairs: tuple[tuple[str, str], ...]
    section: str = CONTEXT
    label: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A phrase where it stands. `day` may be unknown; `stretch` counts parts of the conversation from 0."""

    phrase: Phrase
    speaker: str
    day: date | None
    stretch: int
    weight: float = 1.0


ROLES = frozenset(role.capitalize() for role in get_args(Role))
"""Who speaks where nobody has a name."""

PROMPT = "$ "
"""What leads a command in a summary."""

MENTIONED = "Also named: "
"""What leads the paths, identifiers and numbers that stand in a summary without the lines that told them."""

MUST = 100.0
"""Weight from which on a note is taken before all others."""

STRETCH = 40
"""Messages of one day after which another stretch begins."""


def notes_of(
    turns: Sequence[Turn], form: Form, names: frozenset[str], count: TokenCounter, *, first_stretch: int = 0
) -> list[Note]:
    """Every piece of the turns as a note, in order."""
    found: list[Note] = []
    stretch, length, day = first_stretch, 0, None
    for turn in turns:
        today = turn.created_at.date()
        if day is not None and (today != day or length == STRETCH):
            stretch, length = stretch + 1, 0
        day, length = today, length + 1
        speaker = speaker_of(turn)
        found += [Note(phrase, speaker, today, stretch) for phrase in _phrases_of(turn, form, names, count)]
    return found


def speaker_of(turn: Turn) -> str:
    """The name that a turn's notes are led by: at most 24 letters and digits, so that it can be parsed back."""
    return _name(turn.name) or turn.role.capitalize()


@lru_cache(maxsize=256)
def _name(name: str) -> str:
    legible = "".join(character if character.isalnum() or character in " .'-_" else " " for character in clean(name))
    return " ".join(legible.split())[:24].strip()


def phrase_of(
    kind: Kind, text: str, count: TokenCounter, section: str = CONTEXT, label: str = "", source: str = ""
) -> Phrase:
    terms = terms_of(text)
    pairs = tuple(dict.fromkeys(pairwise(term.text for term in terms)))
    return Phrase(kind, text, count(f" {text}") + 1, tuple(dict.fromkeys(terms)), pairs, section, label, source)


def _phrases_of(turn: Turn, form: Form, names: frozenset[str], count: TokenCounter) -> Iterator[Phrase]:
    said = turn.created_at.date()
    yield from _shortened(turn.content, turn.role == "tool", said, form, names, count)
    for image in turn.images:
        yield phrase_of(Kind.CAPTION, one_line(clean(f"image: {image.name}")), count)
    for tool in turn.tools:
        yield from _called(tool, count)
        if tool.result:
            yield from _shortened(tool.result, True, said, form, names, count)


@lru_cache(maxsize=4096)
def _shortened(
    content: str, output: bool, said: date, form: Form, names: frozenset[str], count: TokenCounter
) -> tuple[Phrase, ...]:
    phrases = (_phrase(piece, said, form, names, count) for piece in pieces_of(content, output=output))
    return tuple(phrase for phrase in phrases if phrase.text)


def _phrase(piece: Piece, said: date, form: Form, names: frozenset[str], count: TokenCounter) -> Phrase:
    if piece.kind in TECHNICAL:
        return phrase_of(piece.kind, piece.text, count)
    section, label = section_of(piece.text)
    source = resolve(piece.text, said)
    return phrase_of(piece.kind, shorten(source, form, names), count, section, label, source)


@lru_cache(maxsize=4096)
def _called(tool: ToolUse, count: TokenCounter) -> tuple[Phrase, ...]:
    """A tool call as a command, "name argument=value …", with further lines of its values as the command's body."""
    values = _arguments(tool.arguments)
    heads = [f"{name}={lines[0]}" if name else lines[0] for name, lines in values if lines]
    bodies = [line for _, lines in values for line in lines[1:]]
    command = one_line(clean(" ".join([tool.name, *heads])))
    pieces = [Piece(Kind.COMMAND, part) for part in split_long(command)] + [
        Piece(Kind.BODY, part) for line in bodies for part in split_long(one_line(clean(line)))
    ]
    return tuple(phrase_of(piece.kind, piece.text, count) for piece in pieces if any(map(str.isalnum, piece.text)))


def _arguments(text: str) -> list[tuple[str, list[str]]]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return [("", text.splitlines())]
    if not isinstance(values, dict):
        return [("", text.splitlines())]
    return [
        (
            "" if name == "command" else str(name),
            (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).splitlines(),
        )
        for name, value in values.items()
    ]
