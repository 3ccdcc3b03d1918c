"""Recognises documents by their bytes, and has their text read in a bounded process."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.runtime.bounded_process import JobFailed, OverMemory, OverTime, Pool
from conversations.runtime.fair_queue import FairQueue

MAX_BYTES = 20_000_000
"""The most bytes of an uploaded document."""
MAX_PAGES = 3_000
MAX_UNPACKED_BYTES = 200_000_000
"""The most bytes that a document which is a zip may unpack to, by its own directory."""
SECONDS = 30.0
"""CPU seconds that reading one document may take; a paper of 300 pages takes about one."""
MEGABYTES = 900
"""Memory that reading may take: PDFium and the largest spreadsheets."""

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
    "eml": "message/rfc822",
    "ipynb": "application/x-ipynb+json",
}
"""The kinds of documents, each with its media type."""
ZIP = "zip"
"""The kind of data that are a zip: its directory, read in the worker, tells which document it is."""
PICTURES = "pictures"
"""The kind of a job that draws pages in place of reading them."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAIL = re.compile(
    rb"\A(?:(?:return-path|received|from|to|delivered-to|mime-version|message-id|date|subject|x-[\w-]+):[^\n]*\r?\n"
    rb"(?:[ \t][^\n]*\r?\n)*){3}",
    re.IGNORECASE,
)
_NOTEBOOK = re.compile(rb'"nbformat"\s*:\s*[345]\b')
_CELLS = re.compile(rb'"cells"\s*:\s*\[')
_MAIL_MARK = re.compile(rb"^(?:mime-version|message-id):", re.IGNORECASE | re.MULTILINE)

_pool = Pool("conversations.messages.document_reading", seconds=SECONDS, megabytes=MEGABYTES)
_turns = FairQueue(at_once=1, a_person=3, waiting=6, seconds=60, what="documents")


class ScannedDocument(Invalid):
    """The document has no text, because its pages are pictures."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The first pages of a document as JPEG files, and the number of all its pages."""

    files: tuple[bytes, ...]
    pages: int


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document of a kind. `pages` is the number of its pages, slides or sheets; None if it has none."""

    kind: str
    text: str
    pages: int | None = None


def kind_of(data: bytes) -> str:
    """The kind of a document, a key of MEDIA_TYPES or ZIP; "" for data that are none.

    Raises Invalid, with the field `file`, for the formats of Office before 2007.
    """
    if b"%PDF-" in data[:1_024]:
        return "pdf"
    if data.startswith(b"{\\rtf"):
        return "rtf"
    if data.startswith(_OLE):
        raise Invalid(
            _(
                "file: this is an old Office format (.doc, .xls, .ppt) or an encrypted one. Save it as .docx, .xlsx, "
                ".pptx or PDF without a password."
            ),
            field="file",
        )
    if data.startswith(b"PK\x03\x04"):
        return ZIP
    if data.lstrip()[:1] == b"{" and len(data) <= MAX_BYTES and _CELLS.search(data) and _NOTEBOOK.search(data):
        return "ipynb"
    return "eml" if _MAIL.match(data[:20_000]) and _MAIL_MARK.search(data[:20_000]) else ""


def read_document(data: bytes, kind: str, *, by: Hashable = None) -> Document:
    """Read a document's text in a separate process; people take turns, and it counts as a turn of the person `by`.

    Raises Invalid, with the field `file`, for a document that is too large, encrypted or damaged, has no text, or needs
    too much time or memory, and for a zip that is no document. Raises TooMany and Busy if this person has no turn now.
    """
    document: Document = _run((kind, data), by=by)
    return document


def draw_pages(data: bytes, *, most: int, by: Hashable = None) -> Pictures:
    """Draw the first `most` pages of a PDF, in the same process and with the same refusals as `read_document`."""
    pictures: Pictures = _run((PICTURES, data, most), by=by)
    return pictures


def _run(job: tuple[Any, ...], *, by: Hashable) -> Any:
    if len(job[1]) > MAX_BYTES:
        raise Invalid(
            _("file: a document has at most %(most)s MB.") % {"most": MAX_BYTES // 1_000_000},
            field="file",
            limit=MAX_BYTES,
        )
    with _turns.turn(by or object()):
        try:
            return _pool.run(job)
        except OverTime:
            words = _("file: the document could not be read within %(seconds)s seconds.") % {"seconds": f"{SECONDS:g}"}
            raise Invalid(words, field="file", limit=SECONDS) from None
        except OverMemory:
            words = _("file: the document could not be read within %(megabytes)s MB of memory.") % {
                "megabytes": MEGABYTES
            }
            raise Invalid(words, field="file", limit=MEGABYTES) from None
        except JobFailed:
            raise damaged() from None


def damaged() -> Invalid:
    return Invalid(_("file: the document is damaged, or of a kind that cannot be read."), field="file")
