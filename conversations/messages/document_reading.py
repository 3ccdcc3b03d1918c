"""Reads the text of documents in a separate process, since the file determines the time and memory.

Nothing in a document is run or fetched: no macros, scripts, formulas or links. Pages, slides and sheets begin with a
line in brackets, such as "[Page 12]", so that replies can name them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.messages.documents import (
    MAX_PAGES,
    MAX_UNPACKED_BYTES,
    MEDIA_TYPES,
    PICTURES,
    ZIP,
    Document,
    Pictures,
    ScannedDocument,
    damaged,
)
from conversations.messages.formats import (
    book,
    mail,
    notebook,
    open_document,
    pdf,
    rich_text,
    slides,
    spreadsheet,
    word,
)
from conversations.messages.formats.parts import Read
from conversations.messages.text_files import MAX_BYTES, unreadable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")

_OFFICE = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
_OFFICE_TYPES = {b"wordprocessingml": "docx", b"ms-word": "docx", b"presentationml": "pptx", b"spreadsheetml": "xlsx"}
"""Words in the list of contents of a file whose main part has another name."""
MAX_CONTENTS_BYTES = 1_000_000
_CONTENTS = "[Content_Types].xml"
_BY_MEDIA_TYPE = {media_type: kind for kind, media_type in MEDIA_TYPES.items()} | {
    f"{MEDIA_TYPES[kind]}-template": kind for kind in ("odt", "ods", "odp")
}


def work(job: tuple[Any, ...]) -> Document | Pictures:
    """Read a document of a kind, or draw its pages. Raises Invalid for one that cannot be read, or has no text."""
    kind, data = job[:2]
    if kind == PICTURES:
        pictures = pdf.draw(data, job[2])
        _require_pages(pictures.pages)
        return pictures
    kind = _kind_of_zip(data) if kind == ZIP else kind
    try:
        parts, pages = _READERS[kind](data)
        _require_pages(pages or 0)
        text = _text(parts)
    except (Invalid, MemoryError):
        raise
    except Exception:  # each library raises nearly every kind of exception for damaged files
        raise damaged() from None
    if not any(map(str.isalnum, re.sub(r"^\[(?:Page|Slide) \d+\]$", "", text, flags=re.MULTILINE))):
        if kind == "pdf":
            raise ScannedDocument(
                _(
                    "file: the document has no text: its pages are pictures. Choose a model that sees images, or "
                    "attach the pages as text."
                ),
                field="file",
            )
        raise Invalid(_("file: the document has no text: there is nothing to read in it."), field="file")
    return Document(kind, text, pages)


def _kind_of_zip(data: bytes) -> str:
    try:
        with ZipFile(BytesIO(data)) as file:
            members = file.infolist()
            names = {member.filename for member in members}
            kind = next((kind for name, kind in _OFFICE.items() if name in names), "")
            if not kind and _CONTENTS in names and file.getinfo(_CONTENTS).file_size < MAX_CONTENTS_BYTES:
                contents = file.read(_CONTENTS)
                kind = next((kind for word, kind in _OFFICE_TYPES.items() if word in contents), "")
            if not kind and "mimetype" in names and file.getinfo("mimetype").file_size < 200:
                kind = _BY_MEDIA_TYPE.get(file.read("mimetype").decode(errors="replace").strip(), "")
    except (BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        raise unreadable() from None
    if not kind:
        raise unreadable()
    if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
        limit = f"{MAX_UNPACKED_BYTES // 1_000_000} MB"
        raise Invalid(
            _("file: the document unpacks to more than %(limit)s."),
            values={"limit": limit},
            field="file",
            limit=MAX_UNPACKED_BYTES,
        )
    return kind


def _text(parts: Iterable[str]) -> str:
    """The parts, each on lines of its own, without control characters. Raises Invalid beyond MAX_BYTES."""
    kept, size = [], 0
    for part in parts:
        clean = _CONTROL.sub("", part.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n"))
        size += len(clean.encode(errors="replace"))
        if size > MAX_BYTES:
            limit = f"{MAX_BYTES // 1_000_000} MB"
            raise Invalid(
                _("file: the document's text has more than %(limit)s. Attach a part."),
                values={"limit": limit},
                field="file",
                limit=MAX_BYTES,
            )
        kept.append(clean)
    text = "\n".join(kept).encode(errors="replace").decode()
    return _BLANK_LINES.sub("\n\n", text).strip()


def _require_pages(number: int) -> None:
    if number > MAX_PAGES:
        raise Invalid(
            _("file: a document has at most %(most)s pages, not %(number)s."),
            values={"most": f"{MAX_PAGES:,}", "number": f"{number:,}"},
            field="file",
            limit=MAX_PAGES,
        )


_READERS: dict[str, Callable[[bytes], Read]] = {
    "pdf": pdf.read,
    "docx": word.read,
    "pptx": slides.read,
    "xlsx": spreadsheet.read,
    "odt": open_document.read,
    "ods": open_document.read,
    "odp": open_document.read,
    "epub": book.read,
    "rtf": rich_text.read,
    "eml": mail.read,
    "ipynb": notebook.read,
}
