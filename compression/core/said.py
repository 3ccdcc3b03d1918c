"""Who said what: words of a history with their speaker and day, and whether the person typed them here.

Only what the person typed can be a rule of theirs. What they pasted, files, what came in with an import, what a model
says to another, and what tools answer may order whatever it likes: that is told as something which was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from compression.core.extractive.sentences import clean
from compression.core.sections import DECISIONS, KEPT_FACTS
from compression.core.values import Turn

USER, ASSISTANT, SYSTEM, TOOL = "User", "Assistant", "System", "Tool"
QUOTED, SUMMARY = "Quoted", "Earlier summary"
"""What a person pasted or attached; what an earlier summary tells without saying who did."""
BY_ORIGIN = {"import": "Imported user", "planner": "Planner", "summary": SUMMARY}
"""Who speaks in a person's place, by a turn's origin."""
LABELS = frozenset({USER, ASSISTANT, SYSTEM, TOOL, QUOTED, *BY_ORIGIN.values()})
"""Who speaks where nobody has a name; no name is ever one of these."""

_RESERVED = frozenset(label.casefold() for label in LABELS)
_KEPT = re.compile(r"- ([^\W_][\w .'-]{0,23})(?:, (\d{4}-\d\d-\d\d))?: (\S.*)")
_LABELLED = re.compile(rf"(?:[-*+] )?({'|'.join(sorted(LABELS))}): ")


class Said(NamedTuple):
    """A text, and whose it is: "" where that is not known. `may_rule`: an order in it is one of the person's."""

    text: str
    speaker: str = ""
    day: date | None = None
    may_rule: bool = True


def speaker_of(turn: Turn) -> str:
    """The name that a turn's words are led by: at most 24 letters and digits, so that it can be parsed back."""
    return speaker(turn.role, turn.name, turn.origin)


def label_of(turn: Turn) -> str:
    """The same where nobody has a name."""
    return speaker(turn.role, "", turn.origin)


def speaker(role: str, name: str, origin: str) -> str:
    """The same of a message that is no turn."""
    return _name(name) or (BY_ORIGIN.get(origin, USER) if role == "user" else role.capitalize())


def said_by(turn: Turn) -> Iterator[Said]:
    """The turn's words, those that it quotes apart, its calls and what these gave."""
    speaker, day = speaker_of(turn), turn.created_at.date()
    for text, is_quoted in turn.parts:
        yield Said(text, QUOTED if is_quoted else speaker, day, may_rule=turn.is_typed and not is_quoted)
    for use in turn.tools:
        yield Said(use.arguments, speaker, day, may_rule=False)
        yield Said(use.result or "", TOOL, day, may_rule=False)


def said_before(summary: str) -> Iterator[Said]:
    """What an earlier summary tells, with the speakers that it names."""
    heading = ""
    for line in summary.splitlines():
        if line.startswith("## "):
            heading = line.strip()
        elif heading == KEPT_FACTS and (kept := kept_line(line)):
            yield kept
        elif labelled := label_in(line):
            yield Said(line, labelled, may_rule=labelled == USER)
        else:
            yield Said(line, SUMMARY, may_rule=heading in (DECISIONS, KEPT_FACTS))


def kept_line(line: str) -> Said | None:
    """What a line of kept facts tells, as `led` began it."""
    found = _KEPT.fullmatch(line.strip())
    if found is None:
        return None
    return Said(found[3], found[1], date.fromisoformat(found[2]) if _is_date(found[2]) else None, found[1] == USER)


def led(speaker: str, day: date | None) -> str:
    """What a line of kept facts begins with."""
    when = f", {day.isoformat()}" if day else ""
    return f"- {speaker}{when}: " if speaker else "- "


def label_in(line: str) -> str:
    """Whose words a line says that it tells, where that is nobody with a name; "" where it does not say."""
    found = _LABELLED.match(line.strip())
    return found[1] if found else ""


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
