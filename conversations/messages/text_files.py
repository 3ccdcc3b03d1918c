"""Text files as they come in, and as they stand in a message: behind its words, each between its name and an end."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from conversations.errors import Invalid

MAX_BYTES = 1_000_000
"""As it is kept, in UTF-8."""
MARK = "\ufeff"
"""Of an encoding, which is no part of a text."""
OPENING = '<file name="'
ENDING = "\n</file>"
APART = "\n\n"
"""Between the words and each file."""
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Place(NamedTuple):
    """Where the text of a file lies in a message's content, in characters."""

    start: int
    length: int


def read_text_file(data: bytes) -> str:
    """The text of a file, its lines ended by newlines alone. Raises Invalid, with the field `file`."""
    try:
        text = data.decode("utf-16" if data.startswith(WIDE) else "utf-8").lstrip(MARK)
    except UnicodeDecodeError:
        raise _neither() from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(f"file: a text file has at most {MAX_BYTES // 1_000_000} MB.", field="file", limit=MAX_BYTES)
    if CONTROL.search(text):
        raise _neither()
    return text


def inlined(words: str, files: Iterable[tuple[str, str]]) -> tuple[str, list[Place]]:
    """A message's content of its words and the files (name, text), and where the text of each lies in it."""
    content, places = words if words.strip() else "", []
    for name, text in files:
        content += (APART if content else "") + heading(name)
        places.append(Place(len(content), len(text)))
        content += text + ENDING
    return content, places


def words_before(content: str, name: str, start: int) -> str:
    """What stands before the first file, of this name, whose text begins at `start`."""
    return content[: start - len(heading(name))].removesuffix(APART)


def heading(name: str) -> str:
    return f'{OPENING}{escape(name)}">\n'


def _neither() -> Invalid:
    return Invalid(
        "file: neither an image (PNG, JPEG, GIF, WebP) nor text (UTF-8, or UTF-16 with its mark) without control "
        "characters.",
        field="file",
    )
