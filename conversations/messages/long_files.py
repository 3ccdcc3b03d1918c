"""Splits text files that are longer than a model's window into parts. Each part becomes a message of its own.

The parts are summarised like any other messages, and their passages are recalled for each question, with their pages.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence

from compression.core.tokens import count_tokens
from compression.core.values import Window
from compression.ids import uuid7
from conversations.messages.attachments import AttachedFile, clean_name
from conversations.models import Attachment

PART_SHARE = 1 / 6
MAX_PART_TOKENS, MIN_PART_TOKENS = 4_000, 300
MAX_TOKENS_A_CHAR = 4
"""A character has at most four bytes, and a token at least one: a longer line is cut by that."""
COUNTED_CHARS = 200
"""Shorter lines are counted together: a text of 1 MB may have half a million of them."""
PAGE = re.compile(r"^\[(?:Page|Slide|Sheet) (.{1,40})\]$", re.MULTILINE)
"""A line that begins a page of a document: see `document_reading`."""


def part_tokens(window: Window) -> int:
    """The most tokens of a part, by our own count."""
    return max(MIN_PART_TOKENS, min(MAX_PART_TOKENS, int(PART_SHARE * window.budget / window.correction)))


def parts_of(attached: AttachedFile, *, tokens: int) -> list[AttachedFile]:
    """The unsaved parts of a file, in order: the first one for the file's own row, the others for new rows."""
    texts, name, page, parts = list(split(attached.text, tokens=tokens)), attached.row.name, "", []
    for number, text in enumerate(texts, start=1):
        row = _copy(attached.row, is_new=number > 1)
        where, page = _pages(text, page)
        row.name = clean_name(f"{name}, part {number} of {len(texts)}{where}") if len(texts) > 1 else name
        row.tokens, row.size, row.pages = count_tokens(text), len(text.encode()), None
        parts.append(AttachedFile(row, text))
    return parts


def _copy(row: Attachment, *, is_new: bool) -> Attachment:
    copied = copy.copy(row)
    if is_new:
        copied.pk, copied.message, copied._state = uuid7(), None, copy.copy(row._state)
        copied._state.adding = True
    return copied


def _pages(text: str, page: str) -> tuple[str, str]:
    """(the pages of a part, for its name; its last page). `page` is the one that the part before it ended in."""
    found = PAGE.findall(text)
    first = found[0] if found and (PAGE.match(text) or not page) else page
    last = found[-1] if found else page
    if not last:
        return "", ""
    return (f", page {last}" if first == last else f", pages {first} to {last}"), last


def split(text: str, *, tokens: int) -> Iterator[str]:
    """Pieces of at most `tokens` tokens, which end with a line where they can. Together they are the text."""
    held: list[str] = []
    size = 0
    for line, more in _lines(text, tokens):
        if held and size + more > tokens:
            yield "".join(held)
            held, size = [], 0
        held.append(line)
        size += more
    if held:
        yield "".join(held)


def _lines(text: str, tokens: int) -> Iterator[tuple[str, int]]:
    """(lines of a text, short ones together; their tokens). A line of more than `tokens` tokens comes in pieces."""
    held, most = "", max(1, tokens // MAX_TOKENS_A_CHAR)
    for line in text.splitlines(keepends=True):
        held += line
        if len(held) >= COUNTED_CHARS:
            size = count_tokens(held)
            pieces = [held] if size < tokens else [held[at : at + most] for at in range(0, len(held), most)]
            yield from ((piece, size if piece is held else count_tokens(piece)) for piece in pieces)
            held = ""
    if held:
        yield held, count_tokens(held)


def longest_first(attached: Sequence[AttachedFile]) -> list[AttachedFile]:
    """The text files, the longest first."""
    return sorted((one for one in attached if not one.is_image), key=lambda one: one.row.tokens, reverse=True)
