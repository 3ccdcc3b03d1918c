"""The provenance of a message's text: only text that a person typed here can contain rules.

A message's `origin` is null if all of its text was typed. Otherwise it is an object: `from` is the source of the whole
message (import, planner, summary, file), `quoted` are the places of pastes and files in it: [[start, length], …].
`boilerplate` are those of them that a program at the gateway put there, such as its reminders.
`pasted` are the places of lines that were pasted among the words: they are part of the message like typed ones, but
contain no rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compression.core.ledger.find import find_entries
from compression.core.values import split_quotations
from conversations.models import Message

IMPORTED, PLANNED, SUMMED_UP, FILED = ({"from": name} for name in ("import", "planner", "summary", "file"))
Places = Sequence[tuple[int, int]]
MAX_PASTED_LINES = 500
"""The most pasted lines that are searched anywhere in a message. Of more, only lines of their own are found."""
MIN_PASTED_WORDS = 4
"""A pasted line with fewer words is a name in the person's own sentence, unless it is an entry of the ledger itself."""


def source_of(origin: Mapping[str, Any] | None) -> str:
    """The source of a whole message; "" for one that was written here."""
    return str((origin or {}).get("from", ""))


def quoted_places(origin: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    """(start, length) of each paste and file in a message's content."""
    return tuple((start, length) for start, length in (origin or {}).get("quoted", ()))


def boilerplate_places(origin: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    """(start, length) of each of the `quoted_places` with an addition of the person's program."""
    return tuple((start, length) for start, length in (origin or {}).get("boilerplate", ()))


def pasted_places(origin: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    """(start, length) of each line in a message's content that was pasted among the words."""
    return tuple((start, length) for start, length in (origin or {}).get("pasted", ()))


def origin_of(
    content: str, *, words: str, pastes: Places, pasted: Sequence[str] = (), earlier: Message | None = None
) -> dict[str, Any] | None:
    """The origin of a new message with the content `words`, including `pastes`, followed by the text of files.

    `pasted` are texts that were pasted among the words. `earlier` is the message that the new one replaces: lines that
    were not typed there do not count as typed here.
    """
    files = [(len(words), len(content) - len(words))] if len(content) > len(words) else []
    places = [*sorted(pastes), *files]
    if earlier is not None:
        places = sorted([*places, *_places_of_lines(words, places, _untyped(earlier))])
        pasted = [*pasted, *(_text_at(earlier.content, place) for place in pasted_places(earlier.origin))]
    origin = {"quoted": places, "pasted": _pasted_lines(words, places, pasted)}
    return {name: [list(place) for place in found] for name, found in origin.items() if found} or None


def typed_text(content: str, origin: Mapping[str, Any] | None, *, instead: str = "") -> str:
    """The text that the person typed in one of their messages, with `instead` on a line in place of each other text."""
    if source_of(origin):
        return ""
    places = sorted([*quoted_places(origin), *pasted_places(origin)])
    parts = [instead if is_quoted else text for text, is_quoted in split_quotations(content, places)]
    return "\n".join(part for part in parts if part)


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
    covered = _covered(words, places)
    for line in words.splitlines(keepends=True):
        if line.strip() in known and covered.find(1, at, at + len(line)) < 0:
            line_places.append((at, len(line)))
        at += len(line)
    return line_places


def _pasted_lines(words: str, places: Places, pasted: Sequence[str]) -> list[tuple[int, int]]:
    """The places in `words` of the lines of pasted texts; short names that were pasted into a sentence are left out."""
    lines = dict.fromkeys(line.strip() for text in pasted for line in text.splitlines())
    found: list[tuple[int, int]] = []
    covered = _covered(words, places)
    for line in list(lines)[:MAX_PASTED_LINES]:
        if not _is_telling(line):
            continue
        start = words.find(line)
        while start >= 0:
            if covered.find(1, start, start + len(line)) < 0:
                found.append((start, len(line)))
                covered[start : start + len(line)] = b"\1" * len(line)
            start = words.find(line, start + len(line))
    if len(lines) > MAX_PASTED_LINES:
        others = frozenset(line for line in list(lines)[MAX_PASTED_LINES:] if _is_telling(line))
        found += _places_of_lines(words, [*places, *found], others)
    return sorted(found)


def _is_telling(line: str) -> bool:
    return len(line.split()) >= MIN_PASTED_WORDS or bool(find_entries(line))


def _covered(words: str, places: Places) -> bytearray:
    """A byte for each character of `words`: 1 within one of the places."""
    covered = bytearray(len(words))
    for at, length in places:
        covered[at : at + length] = b"\1" * len(covered[at : at + length])
    return covered


def _text_at(content: str, place: tuple[int, int]) -> str:
    return content[place[0] : place[0] + place[1]]
