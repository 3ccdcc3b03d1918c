"""Statements: texts of a history with their speaker, their day, and whether they may contain rules of the person.

Only text that the person typed in this conversation can contain their rules. Orders in pastes, files, imported
messages, messages between models and tools' results are kept as mere statements of their source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from compression.core.sections import DECISIONS, KEPT_FACTS
from compression.core.text.listings import without_listings
from compression.core.text.quoting import QUOTE
from compression.core.text.sentences import clean
from compression.core.text.tool_arguments import plain_arguments
from compression.core.values import Turn

USER, ASSISTANT, SYSTEM, TOOL = "User", "Assistant", "System", "Tool"
QUOTED, SUMMARY = "Quoted", "Earlier summary"
"""Speakers of pasted or attached text, and of text in an earlier summary that names no speaker."""
BY_ORIGIN = {"import": "Imported", "planner": "Planner", "summary": SUMMARY}
"""The speaker of a user message that nobody typed here, by the turn's origin.

That of an imported one costs as many tokens as USER: an export that is imported takes the tokens that it took before.
"""
IMPORTED_USER = "Imported user"
"""The label of an imported message in summaries that were written before `Imported` replaced it."""
LABELS = frozenset({USER, ASSISTANT, SYSTEM, TOOL, QUOTED, IMPORTED_USER, *BY_ORIGIN.values()})
"""The speakers' labels for turns without a name; no name may equal one of them."""

_RESERVED = frozenset(label.casefold() for label in LABELS)
_KEPT = re.compile(r"- ([^\W_][\w .'-]{0,23})(?:, (\d{4}-\d\d-\d\d))?: (\S.*)")
_LABELLED = re.compile(rf"(?:[-*+] )?({'|'.join(sorted(LABELS))}): ")


class Statement(NamedTuple):
    """A text with its speaker ("": unknown) and day. `may_rule`: an order in it counts as the person's rule.

    `image`: the text is an image's name.
    """

    text: str
    speaker: str = ""
    day: date | None = None
    may_rule: bool = True
    image: bool = False


def speaker_of(turn: Turn) -> str:
    """The speaker's name that precedes a turn's text: at most 24 characters, of a form that can be parsed back."""
    return message_speaker(turn.role, turn.name, turn.origin)


def label_of(turn: Turn) -> str:
    """The speaker's label of a turn, without its name."""
    return message_speaker(turn.role, "", turn.origin)


def message_speaker(role: str, name: str, origin: str) -> str:
    """The speaker's name for a message with this role, name ("": none) and origin."""
    return _name(name) or (BY_ORIGIN.get(origin, USER) if role == "user" else role.capitalize())


def statements_of(turn: Turn) -> Iterator[Statement]:
    """The turn's own text and quotations as separate statements, its images' names, its tools' calls and results.

    Boilerplate is left out, and the listings of what tools printed.
    """
    speaker, day = speaker_of(turn), turn.created_at.date()
    for text, is_quoted in turn.substance:
        if turn.role == "tool":
            text = without_listings(text)
        yield Statement(text, QUOTED if is_quoted else speaker, day, may_rule=turn.is_typed and not is_quoted)
    for image in turn.images:
        yield Statement(image.name, speaker, day, may_rule=False, image=True)
    for use in turn.tools:
        yield Statement(plain_arguments(use.arguments), speaker, day, may_rule=False)
        yield Statement(without_listings(use.result or ""), TOOL, day, may_rule=False)


def statements_in_summary(summary: str) -> Iterator[Statement]:
    """The lines of an earlier summary as statements, with the speakers that they name."""
    heading = ""
    for line in summary.splitlines():
        if line.startswith("## "):
            heading = line.strip()
        elif heading == KEPT_FACTS and (statement := parse_kept_line(line)):
            yield statement
        elif line.startswith(QUOTE):
            yield Statement(line, SUMMARY, may_rule=False)
        elif label := label_in(line):
            yield Statement(line, label, may_rule=label == USER)
        else:
            yield Statement(line, SUMMARY, may_rule=heading in (DECISIONS, KEPT_FACTS))


def parse_kept_line(line: str) -> Statement | None:
    """The statement of a line of kept facts that `kept_line_start` began; None for any other line."""
    match = _KEPT.fullmatch(line.strip())
    if match is None:
        return None
    return Statement(match[3], match[1], date.fromisoformat(match[2]) if _is_date(match[2]) else None, match[1] == USER)


def kept_line_start(speaker: str, day: date | None) -> str:
    """The beginning of a line of kept facts: "- speaker, date: "."""
    date_part = f", {day.isoformat()}" if day else ""
    return f"- {speaker}{date_part}: " if speaker else "- "


def label_in(line: str) -> str:
    """The label (one of LABELS) that a line begins with; "" for a line without one."""
    match = _LABELLED.match(line.strip())
    return match[1] if match else ""


@lru_cache(maxsize=256)
def _name(name: str) -> str:
    legible = "".join(character if character.isalnum() or character in " .'-_" else " " for character in clean(name))
    short = " ".join(legible.split())[:24].strip()
    return "" if short.casefold() in _RESERVED else short


def _is_date(text: str | None) -> bool:
    try:
        return bool(text and date.fromisoformat(text))
    except ValueError:
        return False
