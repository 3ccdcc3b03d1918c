"""Parses the conversations of JSON, or of JSON lines, one by one: all at once would take several times the size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, NamedTuple

from conversations.errors import Invalid
from conversations.validation import STRICT, json_faults, parse_json

SPACE = re.compile(r"[ \t\n\r]*")
EMPTY = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*\][ \t\n\r]*")

LISTED = "conversations"
"""The field of a document, as Grok exports it, whose list has the conversations."""
MAX_BROKEN_LINES = 10


class Entry(NamedTuple):
    """A value of a list, or a whole document that is none; Invalid in place of a broken line's value."""

    value: Any
    is_listed: bool


def entries(text: str) -> Iterator[Entry]:
    """The entries, parsed as strictly as by `parse_json`; a fault raises Invalid after the entries before it.

    Broken JSON lines, at most `MAX_BROKEN_LINES` of them, leave the other lines alone: programs that append to a file
    leave its last line half-written, or a line that they were stopped in.
    """
    start = _after_space(text, 0)
    if text[start : start + 1] != "[" or EMPTY.fullmatch(text):
        if _are_lines(text, start):
            yield from _lines(text, start)
            return
        whole = parse_json(text, most=len(text))
        if isinstance(whole, dict) and isinstance(whole.get(LISTED), list) and "format" not in whole:
            yield from (Entry(value, is_listed=True) for value in whole[LISTED])
        else:
            yield Entry(whole, is_listed=False)
        return
    at = start
    while at == start or text[at : at + 1] == ",":
        with json_faults():
            value, at = STRICT.raw_decode(text, _after_space(text, at + 1))
        yield Entry(value, is_listed=True)
        del value
        at = _after_space(text, at)
    with json_faults():
        if text[at : at + 1] != "]":
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        if (end := _after_space(text, at + 1)) != len(text):
            raise JSONDecodeError("Extra data", text, end)


def _are_lines(text: str, start: int) -> bool:
    """Whether a document is JSON lines: its first line ends with an object, and another one begins below it."""
    end = text.find("\n", start)
    below = _after_space(text, end)
    return end >= 0 and text[start:end].rstrip().endswith("}") and text[below : below + 1] == "{"


def _lines(text: str, at: int) -> Iterator[Entry]:
    broken = 0
    while at < len(text):
        try:
            with json_faults():
                value, end = STRICT.raw_decode(text, at)
        except Invalid as refusal:
            broken += 1
            if broken > MAX_BROKEN_LINES:
                raise
            value, end = refusal, _end_of_line(text, at)
        yield Entry(value, is_listed=True)
        at = _after_space(text, end)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at
