"""The provenance of a message's text: only text that a person typed here can contain rules.

A message's `origin` is null if all of its text was typed. Otherwise it is an object: `from` is the source of the whole
message (import, planner, summary), `quoted` are the places of pastes and files in the content: [[start, length], …].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compression.core.values import split_quotations
from conversations.models import Message

IMPORTED, PLANNED, SUMMED_UP = ({"from": name} for name in ("import", "planner", "summary"))
Places = Sequence[tuple[int, int]]


def source_of(origin: Mapping[str, Any] | None) -> str:
    """The source of a whole message; "" for one that was written here."""
    return str((origin or {}).get("from", ""))


def quoted_places(origin: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    """(start, length) of each paste and file in a message's content."""
    return tuple((start, length) for start, length in (origin or {}).get("quoted", ()))


def origin_of(content: str, *, words: str, pastes: Places, earlier: Message | None = None) -> dict[str, Any] | None:
    """The origin of a new message with the content `words`, including `pastes`, followed by the text of files.

    `earlier` is the message that the new one replaces: lines that were not typed there do not count as typed here.
    """
    files = [(len(words), len(content) - len(words))] if len(content) > len(words) else []
    places = [*sorted(pastes), *files]
    if earlier is not None:
        places = sorted([*places, *_places_of_lines(words, places, _untyped(earlier))])
    return {"quoted": [list(place) for place in places]} if places else None


def typed_text(content: str, origin: Mapping[str, Any] | None) -> str:
    """The text that the person typed in one of their messages."""
    if source_of(origin):
        return ""
    return "\n".join(text for text, is_quoted in split_quotations(content, quoted_places(origin)) if not is_quoted)


def typed_by_user(message: Message) -> str:
    """The text that a person typed in a message; "" for messages of other roles."""
    return typed_text(message.content, message.origin) if message.role == Message.Role.USER else ""


def _untyped(message: Message) -> frozenset[str]:
    """The lines of a message that nobody typed here."""
    if source_of(message.origin):
        return _lines(message.content)
    parts = split_quotations(message.content, quoted_places(message.origin))
    return _lines("\n".join(text for text, is_quoted in parts if is_quoted))


def _lines(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.splitlines() if line.strip())


def _places_of_lines(words: str, places: Places, known: frozenset[str]) -> list[tuple[int, int]]:
    """Places of lines in `words` that are in `known`, outside of `places`."""
    line_places, at = [], 0
    for line in words.splitlines(keepends=True):
        inside = any(start < at + len(line) and at < start + length for start, length in places)
        if line.strip() in known and not inside:
            line_places.append((at, len(line)))
        at += len(line)
    return line_places
