"""An earlier summary, taken apart into notes again, so that it can be folded into the next one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from compression.core.cues import STATES
from compression.core.dates import MONTHS
from compression.core.notes import Note, phrase_of
from compression.core.pieces import Kind
from compression.core.ports import TokenCounter
from compression.core.sections import CONTEXT, DECISIONS, FILES, STATE
from compression.core.sentences import clean, one_line, split_long

PREFERENCE = 1.5
"""How much more a note weighs that has stood in a summary before: it was chosen once, and its source is gone."""

_DAY = re.compile(r"#{3} (\d{1,2}) (\w+) (\d{4})")
_SPEAKER = re.compile(r"([^\W_][\w .'-]{0,23}): (?=\S)")
_STATE_LINE = re.compile(rf"({'|'.join(STATES)}): ", re.IGNORECASE)


def notes_of_summary(summary: str, count: TokenCounter) -> list[Note]:
    """The notes of a summary; each date begins a stretch of its own. Unknown headings count as context."""
    found: list[Note] = []
    section, day, stretch = CONTEXT, None, 0
    for line in clean(summary).splitlines():
        if line.startswith("## "):
            section = heading if (heading := line.strip()) in _KEPT else CONTEXT
        elif dated := _day(line):
            day, stretch = dated, stretch + 1
        elif _says_something(line):
            found += _notes_of_line(line, section, day if section == CONTEXT else None, stretch, count)
    return found


_KEPT = (DECISIONS, FILES, STATE)


def _day(line: str) -> date | None:
    if match := _DAY.fullmatch(line.strip()):
        number, month, year = match.groups()
        if month in MONTHS:
            try:
                return date(int(year), MONTHS.index(month) + 1, int(number))
            except ValueError:
                return None
    return None


def _notes_of_line(line: str, section: str, day: date | None, stretch: int, count: TokenCounter) -> Iterator[Note]:
    bullet = line.lstrip().startswith("- ")
    text = one_line(line)
    speaker, label = "", ""
    if section == STATE and (match := _STATE_LINE.match(text)):
        label, text = match[1].capitalize(), text[match.end() :]
    elif section == FILES:
        label, _, text = text.partition(": ")
    elif section == CONTEXT and not bullet and (match := _SPEAKER.match(text)):
        speaker, text = match[1], text[match.end() :]
    if section == STATE and not label:
        section = CONTEXT
    for part in [text] if section == DECISIONS else text.split("; "):
        for piece in filter(_says_something, split_long(part)):
            kind = Kind.COMMAND if piece.startswith("$ ") else Kind.NOTE
            yield Note(
                phrase_of(kind, piece.removeprefix("$ "), count, section, label), speaker, day, stretch, PREFERENCE
            )


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))
