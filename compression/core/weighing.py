"""What notes are worth: by their kind, and by the terms that they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import log

from compression.core.coverage import Candidate, Coverage
from compression.core.mentions import is_row_of_figures
from compression.core.notes import Note
from compression.core.pieces import TECHNICAL, Kind
from compression.core.said import LABELS
from compression.core.sections import CONTEXT
from compression.core.stemming import stem
from compression.core.stopwords import GENERIC
from compression.core.terms import parts

KIND_WEIGHTS = {
    Kind.FIRST_PERSON: 1.0,
    Kind.STATEMENT: 0.5,
    Kind.ADDRESS: 0.15,
    Kind.QUESTION: 0.05,
    Kind.EXCLAMATION: 0.4,
    Kind.PHATIC: 0.3,
    Kind.CAPTION: 0.15,
    Kind.COMMAND: 2.0,
    Kind.ERROR: 2.5,
    Kind.PLACE: 1.5,
    Kind.BODY: 1.0,
    Kind.OUTPUT: 1.0,
    Kind.CODE: 1.0,
    Kind.FILE: 2.0,
    Kind.NOTE: 1.0,
    Kind.MENTION: 0.75,
}
"""What a kind of piece is worth, tuned on public chats and coding-agent runs."""

ASSISTED_WEIGHTS = KIND_WEIGHTS | {Kind.STATEMENT: 0.8, Kind.ADDRESS: 0.6, Kind.QUESTION: 0.25, Kind.PHATIC: 0.1}
"""The same where a person talks to an assistant: it asks for what it wants, and is told so without an "I"."""

PROSE_BESIDE_CODE = 0.4
TECHNICAL_SHARE = 0.3
"""Part of the tokens from which on a conversation is weighed as work on a machine: paths, names and numbers matter."""

SORT_WEIGHTS = {"path": 5.0, "identifier": 3.0, "number": 2.0, "name": 0.1, "word": 0.1}
COMMAND_WORTH = 3.0
"""Of a command as a whole, beside its terms: that it was run is worth telling once."""
FIGURES = 0.05
"""What a row of figures is worth."""
FREQUENCY = 0.25
"""A technical term that is said n times counts 1 + ln(n) / 4 of its sort, as a fact does."""
DECAY, TECHNICAL_DECAY = 0.6, 0.1
PAIR_WORTH = 0.6
DATE_PRICE, LINE_PRICE = 5.0, 1.5

_GENERIC = frozenset(map(stem, GENERIC))


def is_technical(notes: Sequence[Note]) -> bool:
    total = sum(note.phrase.tokens for note in notes)
    return sum(note.phrase.tokens for note in notes if note.phrase.kind in TECHNICAL) > TECHNICAL_SHARE * total


def coverage_of(notes: Sequence[Note], names: frozenset[str]) -> Coverage:
    """The notes as candidates: their terms and pairs of terms as features, their date and line as headers."""
    technical = is_technical(notes)
    weights = term_weights(notes, names, technical)
    decay = TECHNICAL_DECAY if technical else DECAY
    named = _named_parts(weights) if technical else {}
    features, headers = _Numbers(), _Numbers()
    candidates = []
    for note in notes:
        texts = [term.text for term in note.phrase.terms]
        texts += [part for text in texts for part in named.get(text, ())]
        told = [features.of(text, weights[text], decay) for text in texts]
        if note.phrase.kind is Kind.COMMAND and technical:
            told.append(features.of((note.phrase.text,), COMMAND_WORTH, decay))
        elif not technical:
            told += [features.of((a, b), PAIR_WORTH * min(weights[a], weights[b])) for a, b in note.phrase.pairs]
        leads = (
            ((note.day, DATE_PRICE), ((note.stretch, note.speaker), LINE_PRICE))
            if note.phrase.section == CONTEXT
            else ()
        )
        paid = tuple(headers.of(key, price) for key, price in leads)
        candidates.append(Candidate(tuple(told), note.phrase.tokens, kind_weight(note, technical), paid, note.stretch))
    return Coverage(candidates, features.values, features.decays, headers.values)


def kind_weight(note: Note, technical: bool) -> float:
    if technical and is_row_of_figures(note.phrase):
        return note.weight * FIGURES
    if technical and note.phrase.kind in (Kind.FIRST_PERSON, Kind.STATEMENT, Kind.ADDRESS):
        return note.weight * PROSE_BESIDE_CODE
    return note.weight * (ASSISTED_WEIGHTS if note.speaker in LABELS else KIND_WEIGHTS)[note.phrase.kind]


def term_weights(notes: Sequence[Note], names: frozenset[str], technical: bool) -> dict[str, float]:
    """Rare terms, names and numbers weigh more; praise, the speakers' own names and what is only asked weigh less."""
    frequency = Counter(term.text for note in notes for term in note.phrase.terms)
    sorts = _sorts(notes)
    if technical:
        return {text: SORT_WEIGHTS[sorts[text]] * (1 + FREQUENCY * log(n)) for text, n in frequency.items()}
    told = {
        term.text
        for note in notes
        if note.phrase.kind is not Kind.QUESTION or note.speaker in LABELS
        for term in note.phrase.terms
    }
    spoken = {stem(word) for name in names for word in name.split()}
    return {
        text: n**-0.4
        * (1.0 if sorts[text] == "word" else 2.0)
        * (0.35 if text in _GENERIC else 1.0)
        * (0.05 if text not in told or text in spoken else 1.0)
        for text, n in frequency.items()
    }


def _named_parts(texts: Iterable[str]) -> dict[str, list[str]]:
    """Of each path or dotted name the parts that are named apart: who reads it reads them too."""
    named = set(texts)
    return {text: [part for part in parts(text) if part in named] for text in named}


def _sorts(notes: Sequence[Note]) -> dict[str, str]:
    """A term's most telling sort: one that is a name anywhere is a name."""
    sorts: dict[str, str] = {}
    for note in notes:
        for text, sort in note.phrase.terms:
            if sorts.get(text, "word") == "word":
                sorts[text] = sort
    return sorts


@dataclass(slots=True)
class _Numbers:
    """Keys to running numbers, with a value and a decay each."""

    values: list[float] = field(default_factory=list)
    decays: list[float] = field(default_factory=list)
    _known: dict[Hashable, int] = field(default_factory=dict)

    def of(self, key: Hashable, value: float, decay: float = 0.0) -> int:
        number = self._known.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.decays.append(decay)
        return number
