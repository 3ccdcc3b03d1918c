"""Notes: the pieces of a history, whole sentences or lines, each with its terms, speaker, day, section and stretch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise

from compression.core.caching import cached_texts
from compression.core.extractive.section_cues import section_of
from compression.core.extractive.segmentation import TECHNICAL, TextUnit, UnitKind, pieces_of
from compression.core.facts.file_acts import file_acts, is_of_files
from compression.core.ledger.rules import find_rules
from compression.core.sections import CONTEXT, FILES
from compression.core.text.listings import shortened_listings
from compression.core.text.relative_dates import resolve
from compression.core.text.sentences import clean, one_line, split_long, whole
from compression.core.text.statements import QUOTED, TOOL, label_in, speaker_of
from compression.core.text.terms import Term, terms_of
from compression.core.text.tool_arguments import argument_lines
from compression.core.tokens import TokenCounter
from compression.core.values import ToolUse, Turn


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece of a message with its terms and the pairs of adjacent terms.

    `label` is the path of a changed file, or the state that the piece reports (Done, Next …).
    """

    kind: UnitKind
    text: str
    tokens: int
    terms: tuple[Term, ...]
    pairs: tuple[tuple[str, str], ...]
    section: str = CONTEXT
    label: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A phrase at its place in the conversation. `day` None: unknown; `stretch` numbers the parts from 0."""

    phrase: Phrase
    speaker: str
    day: date | None
    stretch: int
    weight: float = 1.0


TYPED, REPORTED, EVIDENCE = "typed", "reported", "evidence"
"""A text's standing: typed by the person here; written by others or elsewhere; quoted or returned by tools."""

PROMPT = "$ "
"""The prefix of a command in a summary."""

MENTIONED = "Also named: "
"""The prefix of a summary's line of mentions: paths, identifiers and numbers without their lines."""

MUST_WEIGHT = 100.0
"""Notes of at least this weight are selected before all others."""

STRETCH_MESSAGES = 40
"""The most messages in a stretch; a new stretch also begins with each day."""


def notes_of(turns: Sequence[Turn], count: TokenCounter, *, first_stretch: int = 0) -> list[Note]:
    """Every piece of the turns as a note, in order."""
    notes: list[Note] = []
    stretch, length, day = first_stretch, 0, None
    for turn in turns:
        today = turn.created_at.date()
        if day is not None and (today != day or length == STRETCH_MESSAGES):
            stretch, length = stretch + 1, 0
        day, length = today, length + 1
        notes += [Note(phrase, speaker, today, stretch) for speaker, phrase in _phrases_of(turn, count)]
    return notes


def phrase_of(kind: UnitKind, text: str, count: TokenCounter, section: str = CONTEXT, label: str = "") -> Phrase:
    """The phrase of a text, with its tokens, terms and pairs of terms."""
    terms = terms_of(text)
    pairs = tuple(dict.fromkeys(pairwise(term.text for term in terms)))
    return Phrase(kind, text, count(f" {text}") + 1, tuple(dict.fromkeys(terms)), pairs, section, label)


def _phrases_of(turn: Turn, count: TokenCounter) -> Iterator[tuple[str, Phrase]]:
    """(speaker, phrase) of each piece of the turn; quotations and tools' results have speakers of their own."""
    day, speaker = turn.created_at.date(), speaker_of(turn)
    own = TYPED if turn.is_typed else REPORTED if turn.role in ("user", "assistant") else EVIDENCE
    for text, is_quoted in turn.substance:
        standing, text_speaker = (EVIDENCE, QUOTED) if is_quoted else (own, speaker)
        for phrase in _quoted(text, turn.role == "tool", day, count, standing):
            yield text_speaker, phrase
    for image in turn.images:
        yield speaker, phrase_of(UnitKind.CAPTION, one_line(clean(f"image: {image.name}")), count)
    for tool in turn.tools:
        for path, act in file_acts(tool):
            yield speaker, phrase_of(UnitKind.FILE, act, count, FILES, path)
        for phrase in _called(tool, count):
            yield speaker, phrase
        if tool.result:
            for phrase in _quoted(tool.result, True, day, count, EVIDENCE):
                yield TOOL, phrase


@cached_texts(chars=1_000_000)
def _quoted(content: str, output: bool, said: date, count: TokenCounter, standing: str) -> tuple[Phrase, ...]:
    text = shortened_listings(content) if output else content
    phrases = (_phrase(piece, said, count, standing) for piece in pieces_of(text, output=output))
    return tuple(phrase for phrase in phrases if phrase.text)


def _phrase(piece: TextUnit, said: date, count: TokenCounter, standing: str) -> Phrase:
    """The phrase of a piece. An order that no person typed gets quotation marks; evidence is never a decision."""
    is_order = standing != TYPED and bool(find_rules(piece.text))
    if piece.kind in TECHNICAL:
        # Technical pieces are rendered without a speaker, so an order or a label in them is put in quotation marks.
        if is_order or label_in(piece.text):
            return phrase_of(UnitKind.NOTE, _in_quotes(piece.text), count)
        return phrase_of(piece.kind, piece.text, count)
    section, label = section_of(piece.text) if standing != EVIDENCE and not is_order else (CONTEXT, "")
    text = whole(resolve(piece.text, said))
    return phrase_of(piece.kind, _in_quotes(text) if is_order and text else text, count, section, label)


def _in_quotes(text: str) -> str:
    return f'"{text}"'


@lru_cache(maxsize=256)
def _called(tool: ToolUse, count: TokenCounter) -> tuple[Phrase, ...]:
    """A tool call as a command, "name argument=value …", and the further lines of its values as the command's body."""
    values = argument_lines(tool.arguments)
    heads = [f"{name}={lines[0]}" if name else lines[0] for name, lines in values if lines]
    bodies = [line for _, lines in values for line in lines[1:]]
    command = one_line(clean(" ".join([tool.name, *heads])))
    kind = UnitKind.BODY if is_of_files(tool) else UnitKind.COMMAND  # its files are noted beside it
    pieces = [TextUnit(kind, part) for part in split_long(command)] + [
        TextUnit(UnitKind.BODY, part) for line in bodies for part in split_long(one_line(clean(line)))
    ]
    return tuple(phrase_of(piece.kind, piece.text, count) for piece in pieces if any(map(str.isalnum, piece.text)))
