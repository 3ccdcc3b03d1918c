"""Reads PDF files with PDFium: the text of each page, with what was filled into its forms."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.messages.documents import Pictures, damaged
from conversations.messages.formats.parts import Parts, Read

PICTURE_SIDE = 1_600
"""Pixels of the longer side of a drawn page: models shrink larger images."""


def read(data: bytes) -> Read:
    document = opened(data)
    return _parts(document), len(document)


def draw(data: bytes, most: int) -> Pictures:
    """The first `most` pages as JPEG files."""
    document = opened(data)
    files = []
    for number in range(min(len(document), most)):
        page = document[number]
        longest = max(1.0, *page.get_size())
        file = BytesIO()
        page.render(scale=PICTURE_SIDE / longest).to_pil().convert("RGB").save(file, "JPEG", quality=80)
        files.append(file.getvalue())
        page.close()
    return Pictures(tuple(files), len(document))


def opened(data: bytes) -> Any:
    """Open a PDF. Raises Invalid for an encrypted or damaged one."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Invalid(_("file: the PDF is encrypted. Save it without a password."), field="file") from None
        raise damaged() from None


def _parts(document: Any) -> Parts:
    for number in range(len(document)):
        _put_forms_into_the_page(document, number)
        page = document[number]
        words = page.get_textpage()
        # A hyphen at the end of a line is U+0002 (a word that goes on) or U+FFFE.
        text = re.sub(r"[\x02\ufffe]\r?\n?", "", words.get_text_range())
        words.close()
        page.close()
        yield f"[Page {number + 1}]\n{text}\n"


def _put_forms_into_the_page(document: Any, number: int) -> None:
    """Make the fields of forms and the notes on a page part of it: only then they are text."""
    from pypdfium2 import raw

    page = document[number]
    if raw.FPDFPage_GetAnnotCount(page):
        raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
    page.close()
