"""An earlier summary, taken apart into notes again, so that it can be folded into the next one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from compression.core.cues import STATES
from compression.core.dates import MONTHS
from compression.core.notes import MENTIONED, MUST, PROMPT, Note, phrase_of
from compression.core.pieces import Kind
from compression.core.ports import TokenCounter
from compression.core.rules import find_rules
from compression.core.said import USER, Said, kept_line, label_in
from compression.core.sections import CONTEXT, DECISIONS, FILES, KEPT_FACTS, STATE, SUMMARY
from compression.core.sentences import clean, one_line, sentences, split_long

PREFERENCE = 1.5
"""How much more a note weighs that has stood in a summary before: it was chosen once, and its source is gone."""

_DAY = re.compile(r"#{3} (\d{1,2}) (\w+) (\d{4})")
_SPEAKER = re.compile(r"([^\W_][\w .'-]{0,23}): (?=\S)")
_LEADS = {PROMPT: Kind.COMMAND, MENTIONED: Kind.MENTION}
_STATE_LINE = re.compile(rf"({'|'.join(STATES)}): ", re.IGNORECASE)


def notes_of_summary(summary: str, count: TokenCounter) -> list[Note]:
    """The notes of a summary; each date begins a stretch of its own. Unknown headings count as context.

    Rules are as binding as on the day they were given; facts that were repaired once weigh twice.
    """
    found: list[Note] = []
    heading, day, stretch = SUMMARY, None, 0
    for line in clean(summary).splitlines():
        if line.startswith("## "):
            heading = line.strip()
        elif dated := _day(line):
            day, stretch = dated, stretch + 1
        else:
            for section, label, speaker, text in filter(_says_something, _parts(line, heading)):
                bound = section == DECISIONS and label_in(text) in ("", USER) and bool(find_rules(text))
                weight = MUST if bound else PREFERENCE * (2 if heading == KEPT_FACTS else 1)
                lead = next(filter(text.startswith, _LEADS), "")
                kind = _LEADS.get(lead, Kind.NOTE)
                phrase = phrase_of(kind, text.removeprefix(lead), count, section, label)
                found.append(Note(phrase, speaker, day if section == CONTEXT else None, stretch, weight))
    return found


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
    """What one line of a section tells, in pieces that can be chosen apart."""
    text = one_line(line)
    if heading == KEPT_FACTS and (kept := kept_line(line)):
        return _kept(kept)
    if heading == DECISIONS or (heading == KEPT_FACTS and find_rules(text)):
        return (_Part(DECISIONS, "", "", piece) for piece in split_long(text))
    if heading == FILES:
        path, _, change = text.partition(": ")
        return (_Part(FILES, path, "", piece) for piece in split_long(change))
    if heading == STATE and (state := _STATE_LINE.match(text)):
        return (_Part(STATE, state[1].capitalize(), "", piece) for piece in _told(text[state.end() :]))
    section = SUMMARY if heading == SUMMARY else CONTEXT
    if text.startswith(PROMPT):
        return (_Part(section, "", "", piece) for piece in split_long(text))
    if text.startswith(MENTIONED):
        values = text.removeprefix(MENTIONED).split(", ")
        return (_Part(section, "", "", f"{MENTIONED}{value}") for value in values)
    speaker = None if line.lstrip().startswith("- ") else _SPEAKER.match(text)
    said = text[speaker.end() :] if speaker else text
    return (_Part(section, "", speaker[1] if speaker else "", piece) for piece in _told(said))


def _kept(kept: Said) -> Iterator[_Part]:
    """Facts with their speaker; what the person ordered is as binding as on the day it was said."""
    for said in kept.text.split("; "):
        is_rule = kept.may_rule and bool(find_rules(said))
        for piece in split_long(said):
            yield _Part(DECISIONS, "", "", piece) if is_rule else _Part(CONTEXT, "", kept.speaker, piece)


def _told(line: str) -> Iterator[str]:
    """What a line tells, without the semicolons that joined it."""
    return (piece.rstrip("; ") for piece in sentences(line))


def _says_something(part: _Part) -> bool:
    return any(map(str.isalnum, part.text))
