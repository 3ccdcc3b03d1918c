"""Reads uploaded text files and inlines them into a message: after its words, each between a heading and an end.

A file without a mark that is no UTF-8 has an older character set. The letters of one language identify Windows-1252;
charset-normalizer detects the others.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from itertools import filterfalse
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
_SIGNS = "€‚„…‘’“”–—«»°§©®·\u00a0²½£"
WESTERN = tuple(
    (encoding, frozenset(letters + letters.upper() + _SIGNS))
    for encoding, letters in (
        ("cp1252", "äöüß"),
        ("cp1252", "àâçéèêëîïôùûœ"),
        ("cp1252", "áéíóúüñ¿¡ªº"),
        ("cp1252", "àáâãçéêíóôõú"),
        ("cp1252", "àèéìòù"),
        ("cp1252", "åäöæøé"),
        ("cp1254", "çğıöşü"),
    )
)
"""The letters of German, French, Spanish, Portuguese, Italian, the Nordic languages and Turkish by their encodings."""
DETECTED = ("cp1250", "cp1251", "koi8_r", "cp1253", "cp1252", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp850")
UNDETECTED = ("cp932", "gb18030")
"""The encodings of a text that the detection finds none for, as it does for texts that repeat themselves."""
DETECTED_BYTES = 100_000
"""The beginning of a file that its character set is detected by."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[A-Za-z]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[()][AB0])")
"""The codes of a terminal for colours, the cursor and its title."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class TextRange(NamedTuple):
    """The position of a file's text in a message's content, in characters."""

    start: int
    length: int


def read_text_file(data: bytes) -> str:
    """Decode a text file, with newlines as line ends, and without the colours of a terminal.

    Raises Invalid, with the field `file`, for a file that is too large, or no text.
    """
    if len(data) > 4 * MAX_BYTES:
        raise _too_large()
    text = without_escapes(_decoded(data).lstrip(MARK)).replace("\f", "\n")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text.encode()) > MAX_BYTES:
        raise _too_large()
    if CONTROL.search(text):
        raise unreadable()
    return text


def without_escapes(text: str) -> str:
    """The text without the codes of a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-16" if data.startswith(WIDE) else "utf-8")
    except UnicodeDecodeError:
        pass
    if b"\0" in data:
        raise unreadable()
    for encoding, letters in WESTERN:
        with suppress(UnicodeDecodeError):
            if set(filterfalse(str.isascii, text := data.decode(encoding))) <= letters:
                return text
    from charset_normalizer import from_bytes  # a hundredth of a second, which most files need not wait for

    whole_lines = data[: data.rfind(b"\n", 0, DETECTED_BYTES) + 1]  # a character may have several bytes
    found = from_bytes(whole_lines or data, cp_isolation=list(DETECTED)).best()
    for encoding in (found.encoding,) if found else UNDETECTED:
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise unreadable()


def _too_large() -> Invalid:
    return Invalid(
        _("file: a text file has at most %(most)s MB.") % {"most": MAX_BYTES // 1_000_000},
        field="file",
        limit=MAX_BYTES,
    )


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
    kinds = f"{images}, text, PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF, notebooks"
    return Invalid(
        _("file: this kind of file can't be read. %(kinds)s and mails (.eml) can.") % {"kinds": kinds}, field="file"
    )
