"""Parses the conversations of a JSON document one by one: all at once would take several times the file's size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, NamedTuple

from conversations.validation import STRICT, json_faults, parse_json

SPACE = re.compile(r"[ \t\n\r]*")
EMPTY = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*\][ \t\n\r]*")


LISTED = "conversations"
"""The field of a document, as Grok exports it, whose list has the conversations."""


class Entry(NamedTuple):
    """A value of a list, or a whole document that is none."""

    value: Any
    is_listed: bool


def entries(text: str) -> Iterator[Entry]:
    """The entries, parsed as strictly as by `parse_json`; a fault raises Invalid after the entries before it."""
    start = _after_space(text, 0)
    if text[start : start + 1] != "[" or EMPTY.fullmatch(text):
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


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at
