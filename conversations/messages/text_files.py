"""Reads uploaded text files and inlines them into a message: after its words, each between a heading and an end."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from django.utils.translation import gettext as _

from conversations.errors import Invalid

MAX_BYTES = 1_000_000
"""The most bytes of a text file as stored, in UTF-8."""
MARK = "\ufeff"
"""The byte order mark, which is not part of the text."""
OPENING = '<file name="'
ENDING = "\n</file>"
APART = "\n\n"
"""Separates the words and the files."""
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class TextRange(NamedTuple):
    """The position of a file's text in a message's content, in characters."""

    start: int
    length: int


def read_text_file(data: bytes) -> str:
    """Decode a text file, with newlines as line ends. Raises Invalid, with the field `file`."""
    try:
        text = data.decode("utf-16" if data.startswith(WIDE) else "utf-8").lstrip(MARK)
    except UnicodeDecodeError:
        raise unreadable() from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(
            _("file: a text file has at most %(most)s MB.") % {"most": MAX_BYTES // 1_000_000},
            field="file",
            limit=MAX_BYTES,
        )
    if CONTROL.search(text):
        raise unreadable()
    return text


def inlined(words: str, files: Iterable[tuple[str, str]]) -> tuple[str, list[TextRange]]:
    """Join the words and the files (name, text) to a message's content; also returns each text's position in it."""
    content, places = words if words.strip() else "", []
    for name, text in files:
        content += (APART if content else "") + heading(name)
        places.append(TextRange(len(content), len(text)))
        content += text + ENDING
    return content, places


def words_before(content: str, name: str, start: int) -> str:
    """The words before the first file, which has this name and whose text begins at `start`."""
    return content[: start - len(heading(name))].removesuffix(APART)


def heading(name: str) -> str:
    return f'{OPENING}{escape(name)}">\n'


def unreadable() -> Invalid:
    images = "Images (PNG, JPEG, GIF, WebP, HEIC, AVIF, TIFF, BMP)"
    kinds = f"{images}, text (UTF-8, UTF-16), PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF"
    return Invalid(
        _("file: this kind of file can't be read. %(kinds)s and mails (.eml) can.") % {"kinds": kinds}, field="file"
    )
