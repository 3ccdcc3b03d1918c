"""Parses an earlier summary back into notes, so that the next summary can include them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from compression.core.extractive.notes import MENTIONED, MUST_WEIGHT, PROMPT, Note, phrase_of
from compression.core.extractive.section_cues import STATES
from compression.core.extractive.segmentation import UnitKind
from compression.core.ledger.rules import find_rules
from compression.core.sections import CONTEXT, DECISIONS, FILES, KEPT_FACTS, STATE, SUMMARY
from compression.core.text.quoting import QUOTE
from compression.core.text.relative_dates import MONTHS
from compression.core.text.sentences import clean, one_line, sentences, split_long
from compression.core.text.statements import LABELS, USER, Statement, label_in, parse_kept_line
from compression.core.tokens import TokenCounter

PREFERENCE = 1.5
"""The weight of a note from an earlier summary: it was selected before, and its source is no longer there."""

_DAY = re.compile(r"#{3} (\d{1,2}) (\w+) (\d{4})")
_SPEAKER = re.compile(r"([^\W_][\w .'-]{0,23}): (?=\S)")
_LABEL = re.compile(rf"({'|'.join(sorted(LABELS))}): ")
_LEADS = {PROMPT: UnitKind.COMMAND, MENTIONED: UnitKind.MENTION}
_STATE_LINE = re.compile(rf"({'|'.join(STATES)}): ", re.IGNORECASE)


def notes_of_summary(summary: str, count: TokenCounter) -> list[Note]:
    """The notes of a summary, in stretches that begin at each date. Unknown headings count as context.

    Rules keep the weight of rules; facts under `## Kept facts` weigh twice as much as other notes.
    """
    notes: list[Note] = []
    heading, day, stretch, printing = SUMMARY, None, 0, ""
    for line in clean(summary).splitlines():
        if line.startswith("## "):
            heading = line.strip()
        elif dated := _day(line):
            day, stretch = dated, stretch + 1
        else:
            for section, label, speaker, text in filter(_has_words, _parts(line.removeprefix(QUOTE), heading)):
                speaker = printing = speaker or (printing if line.startswith(QUOTE) else "")
                bound = section == DECISIONS and label_in(text) in ("", USER) and bool(find_rules(text))
                weight = MUST_WEIGHT if bound else PREFERENCE * (2 if heading == KEPT_FACTS else 1)
                lead = next(filter(text.startswith, _LEADS), "")
                kind = _LEADS.get(lead, UnitKind.NOTE)
                phrase = phrase_of(kind, text.removeprefix(lead), count, section, label)
                notes.append(Note(phrase, speaker, day if section == CONTEXT else None, stretch, weight))
    return notes


def _day(line: str) -> date | None:
    if match := _DAY.fullmatch(line.strip()):
        number, month, year = match.groups()
        if month in MONTHS:
            try:
                return date(int(year), MONTHS.index(month) + 1, int(number))
            except ValueError:
                return None
    return None


class _Part(NamedTuple):
    section: str
    label: str
    speaker: str
    text: str


def _parts(line: str, heading: str) -> Iterator[_Part]:
    """The parts of one line of a section, which can be selected separately."""
    text = one_line(line)
    if heading == KEPT_FACTS and (kept := parse_kept_line(line)):
        return _kept(kept)
    if heading == DECISIONS or (heading == KEPT_FACTS and find_rules(text)):
        return (_Part(DECISIONS, "", "", piece) for piece in split_long(text))
    if heading == FILES:
        path, _, change = text.partition(": ")
        return (_Part(FILES, path, "", piece) for piece in split_long(change))
    if heading == STATE and (state := _STATE_LINE.match(text)):
        return _reported(state[1].capitalize(), text[state.end() :])
    section = SUMMARY if heading == SUMMARY else CONTEXT
    if text.startswith(MENTIONED):
        values = text.removeprefix(MENTIONED).split(", ")
        return (_Part(section, "", "", f"{MENTIONED}{value}") for value in values)
    speaker = None if line.lstrip().startswith("- ") else _SPEAKER.match(text)
    statement = text[speaker.end() :] if speaker else text
    if statement.startswith(PROMPT):
        return (_Part(section, "", speaker[1] if speaker else "", piece) for piece in split_long(statement))
    return (_Part(section, "", speaker[1] if speaker else "", piece) for piece in _sentences(statement))


def _reported(label: str, text: str) -> Iterator[_Part]:
    """The sentences of a line of the state, each with the speaker that the line names before it."""
    speaker = ""
    for sentence in _sentences(text):
        if named := _LABEL.match(sentence):
            speaker, sentence = named[1], sentence[named.end() :]
        yield _Part(STATE, label, speaker, sentence)


def _kept(kept: Statement) -> Iterator[_Part]:
    """The facts of a line of kept facts with their speaker; the person's rules are decisions."""
    for fact in sentences(kept.text):
        is_rule = kept.may_rule and bool(find_rules(fact))
        for piece in split_long(fact.rstrip("; ")):
            yield _Part(DECISIONS, "", "", piece) if is_rule else _Part(CONTEXT, "", kept.speaker, piece)


def _sentences(line: str) -> Iterator[str]:
    """The sentences of a line, without the semicolons that joined them."""
    return (piece.rstrip("; ") for piece in sentences(line))


def _has_words(part: _Part) -> bool:
    return any(map(str.isalnum, part.text))
