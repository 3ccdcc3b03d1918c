"""Weighs notes by their kind and their terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import log

from compression.core.extractive.coverage import Candidate, Coverage
from compression.core.extractive.mentions import is_row_of_figures
from compression.core.extractive.notes import Note
from compression.core.extractive.segmentation import TECHNICAL, UnitKind
from compression.core.sections import CONTEXT
from compression.core.text.statements import LABELS
from compression.core.text.stemming import stem
from compression.core.text.stopwords import GENERIC
from compression.core.text.terms import parts

KIND_WEIGHTS = {
    UnitKind.FIRST_PERSON: 1.0,
    UnitKind.STATEMENT: 0.5,
    UnitKind.ADDRESS: 0.15,
    UnitKind.QUESTION: 0.05,
    UnitKind.EXCLAMATION: 0.4,
    UnitKind.PHATIC: 0.1,
    UnitKind.CAPTION: 0.15,
    UnitKind.COMMAND: 2.0,
    UnitKind.ERROR: 2.5,
    UnitKind.PLACE: 1.5,
    UnitKind.BODY: 1.0,
    UnitKind.OUTPUT: 1.0,
    UnitKind.CODE: 1.0,
    UnitKind.LISTING: 1.0,
    UnitKind.FILE: 2.0,
    UnitKind.NOTE: 1.0,
    UnitKind.MENTION: 0.75,
}
"""The weight of each kind of piece, tuned on public chats and coding-agent runs."""

ASSISTED_WEIGHTS = (
    KIND_WEIGHTS
    | {UnitKind.STATEMENT: 0.8, UnitKind.ADDRESS: 0.6, UnitKind.QUESTION: 0.25, UnitKind.PHATIC: 0.1}
    | {
        UnitKind.COMMAND: 0.5,
        UnitKind.ERROR: 1.0,
        UnitKind.BODY: 0.15,
        UnitKind.OUTPUT: 0.15,
        UnitKind.CODE: 0.15,
        UnitKind.LISTING: 0.15,
    }
)
"""The weights for notes of a labelled speaker (LABELS), as between a person and an assistant.

Requests and answers weigh more there: they are often questions, or statements without an "I". Lines of code weigh
little: without their neighbours they say little.
"""

PROSE_BESIDE_CODE = 0.4
"""The weight of prose in a technical conversation."""
TECHNICAL_SHARE = 0.3
"""A conversation is technical from this share of technical tokens on: paths, identifiers and numbers weigh more."""

SORT_WEIGHTS = {"path": 5.0, "identifier": 3.0, "number": 2.0, "name": 0.1, "word": 0.1}
COMMAND_WORTH = 3.0
"""The worth of a command as a whole, on top of its terms, the first time it occurs."""
FIGURES_WEIGHT = 0.05
"""The weight of a row of figures."""
FACT_FACTOR, STANDING_FACT_FACTOR = 2.0, 6.0
"""The terms of the facts that the summary is checked for weigh this many times as much: in a new summary, and in one
that is made anew in less room. With 2 in both, 23 compactions left 54 % of the facts in force; with 6, 62 %."""
FREQUENCY_FACTOR = 0.25
"""A technical term that occurs n times weighs its sort's weight times 1 + ln(n) / 4, as a fact does."""
DECAY, TECHNICAL_DECAY = 0.6, 0.1
PAIR_WORTH = 0.6
DATE_PRICE, LINE_PRICE = 5.0, 1.5

_GENERIC = frozenset(map(stem, GENERIC))


def is_technical(notes: Sequence[Note]) -> bool:
    """Whether more than TECHNICAL_SHARE of the notes' tokens are commands, errors, code or output.

    Listings do not count: a chat about a program is mostly prose.
    """
    counted = [note.phrase for note in notes if note.phrase.kind is not UnitKind.LISTING]
    total = sum(phrase.tokens for phrase in counted)
    return sum(phrase.tokens for phrase in counted if phrase.kind in TECHNICAL) > TECHNICAL_SHARE * total


def coverage_of(
    notes: Sequence[Note],
    names: frozenset[str],
    valued: frozenset[str] = frozenset(),
    fact_factor: float = FACT_FACTOR,
) -> Coverage:
    """The notes as candidates; features are terms and pairs of terms, headers are the date and the speaker's line.

    `valued` are the terms of facts, which weigh `fact_factor` times as much.
    """
    technical = is_technical(notes)
    weights = term_weights(notes, names, technical)
    weights |= {text: fact_factor * weights[text] for text in valued & weights.keys()}
    decay = TECHNICAL_DECAY if technical else DECAY
    named = _named_parts(weights) if technical else {}
    features, headers = _Numbers(), _Numbers()
    candidates = []
    for note in notes:
        texts = [term.text for term in note.phrase.terms]
        texts += [part for text in texts for part in named.get(text, ())]
        note_features = [features.of(text, weights[text], decay) for text in texts]
        if note.phrase.kind is UnitKind.COMMAND and technical:
            note_features.append(features.of((note.phrase.text,), COMMAND_WORTH, decay))
        elif not technical:
            note_features += [
                features.of((a, b), PAIR_WORTH * min(weights[a], weights[b])) for a, b in note.phrase.pairs
            ]
        leads = (
            ((note.day, DATE_PRICE), ((note.stretch, note.speaker), LINE_PRICE))
            if note.phrase.section == CONTEXT
            else ()
        )
        paid = tuple(headers.of(key, price) for key, price in leads)
        candidates.append(
            Candidate(tuple(note_features), note.phrase.tokens, kind_weight(note, technical), paid, note.stretch)
        )
    return Coverage(candidates, features.values, features.decays, headers.values)


def kind_weight(note: Note, technical: bool) -> float:
    """The weight of a note times that of its kind."""
    if technical and is_row_of_figures(note.phrase):
        return note.weight * FIGURES_WEIGHT
    if technical and note.phrase.kind in (UnitKind.FIRST_PERSON, UnitKind.STATEMENT, UnitKind.ADDRESS):
        return note.weight * PROSE_BESIDE_CODE
    printed = technical and note.phrase.kind in TECHNICAL
    weights = ASSISTED_WEIGHTS if note.speaker in LABELS and not printed else KIND_WEIGHTS
    return note.weight * weights[note.phrase.kind]


def term_weights(notes: Sequence[Note], names: frozenset[str], technical: bool) -> dict[str, float]:
    """The weight of each term: rare terms, names and numbers weigh more.

    Praise, the speakers' names and terms that occur only in questions weigh less.
    """
    frequency = Counter(term.text for note in notes for term in note.phrase.terms)
    sorts = _sorts(notes)
    if technical:
        return {text: SORT_WEIGHTS[sorts[text]] * (1 + FREQUENCY_FACTOR * log(n)) for text, n in frequency.items()}
    stated = {
        term.text
        for note in notes
        if note.phrase.kind is not UnitKind.QUESTION or note.speaker in LABELS
        for term in note.phrase.terms
    }
    spoken = {stem(word) for name in names for word in name.split()}
    return {
        text: n**-0.4
        * (1.0 if sorts[text] == "word" else 2.0)
        * (0.35 if text in _GENERIC else 1.0)
        * (0.05 if text not in stated or text in spoken else 1.0)
        for text, n in frequency.items()
    }


def _named_parts(texts: Iterable[str]) -> dict[str, list[str]]:
    """The parts of each path or dotted name that are terms themselves: a note with the whole covers its parts too."""
    named = set(texts)
    return {text: [part for part in parts(text) if part in named] for text in named}


def _sorts(notes: Sequence[Note]) -> dict[str, str]:
    """The sort of each term; a term that has another sort than "word" anywhere has that sort."""
    sorts: dict[str, str] = {}
    for note in notes:
        for text, sort in note.phrase.terms:
            if sorts.get(text, "word") == "word":
                sorts[text] = sort
    return sorts


@dataclass(slots=True)
class _Numbers:
    """Numbers keys in the order of their first use, and keeps a value and a decay for each."""

    values: list[float] = field(default_factory=list)
    decays: list[float] = field(default_factory=list)
    _known: dict[Hashable, int] = field(default_factory=dict)

    def of(self, key: Hashable, value: float, decay: float = 0.0) -> int:
        number = self._known.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.decays.append(decay)
        return number
