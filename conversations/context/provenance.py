"""Which of a message's words a person typed here: only those can put a rule in force.

A message's `origin` is null where all of them are typed. Else it is an object: `from` says where all of it came from
(import, planner, summary), `quoted` where pastes and files stand in the content: [[start, length], …].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compression.core.values import split_quotations
from conversations.models import Message

IMPORTED, PLANNED, SUMMED_UP = ({"from": name} for name in ("import", "planner", "summary"))
Places = Sequence[tuple[int, int]]


def from_of(origin: Mapping[str, Any] | None) -> str:
    """Where all of a message came from; "" for one that was written here."""
    return str((origin or {}).get("from", ""))


def places_of(origin: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    return tuple((start, length) for start, length in (origin or {}).get("quoted", ()))


def origin_of(content: str, *, words: str, pastes: Places, earlier: Message | None = None) -> dict[str, Any] | None:
    """Of a message that is stored now: `words`, with their `pastes`, and files behind them.

    Lines that stand in what nobody typed of the message in whose place this one is stored are no more typed than there.
    """
    files = [(len(words), len(content) - len(words))] if len(content) > len(words) else []
    places = [*sorted(pastes), *files]
    if earlier is not None:
        places = sorted([*places, *_again(words, places, _untyped(earlier))])
    return {"quoted": [list(place) for place in places]} if places else None


def typed_in(content: str, origin: Mapping[str, Any] | None) -> str:
    """What the person typed of a message of theirs."""
    if from_of(origin):
        return ""
    return "\n".join(text for text, is_quoted in split_quotations(content, places_of(origin)) if not is_quoted)


def typed(message: Message) -> str:
    return typed_in(message.content, message.origin) if message.role == Message.Role.USER else ""


def _untyped(message: Message) -> frozenset[str]:
    """The lines of it that nobody typed here."""
    if from_of(message.origin):
        return _lines(message.content)
    parts = split_quotations(message.content, places_of(message.origin))
    return _lines("\n".join(text for text, is_quoted in parts if is_quoted))


def _lines(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.splitlines() if line.strip())


def _again(words: str, places: Places, known: frozenset[str]) -> list[tuple[int, int]]:
    """Where lines of `known` stand in the words, beside the places that are known already."""
    found, at = [], 0
    for line in words.splitlines(keepends=True):
        inside = any(start < at + len(line) and at < start + length for start, length in places)
        if line.strip() in known and not inside:
            found.append((at, len(line)))
        at += len(line)
    return found
