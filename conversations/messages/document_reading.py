"""Reads the text of documents in a separate process, since the file determines the time and memory.

Nothing in a document is run or fetched: no macros, scripts, formulas or links. Pages, slides and sheets begin with a
line in brackets, such as "[Page 12]", so that replies can name them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from email import message_from_bytes, policy
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
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
from conversations.messages.text_files import MAX_BYTES, unreadable

PICTURE_SIDE = 1_600
"""Pixels of the longer side of a drawn page: models shrink larger images."""
MAX_CELLS = 1_000_000
"""The most cells that are read of a spreadsheet."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")

_OFFICE = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
_BY_MEDIA_TYPE = {media_type: kind for kind, media_type in MEDIA_TYPES.items()}

Parts = Iterator[str]
Read = tuple[str, int | None]
"""The text of a document, and the number of its pages."""


def work(job: tuple[Any, ...]) -> Document | Pictures:
    """Read a document of a kind, or draw its pages. Raises Invalid for one that cannot be read, or has no text."""
    kind, data = job[:2]
    if kind == PICTURES:
        return _draw(data, job[2])
    kind = _kind_of_zip(data) if kind == ZIP else kind
    try:
        text, pages = _READERS[kind](data)
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


def _require_pages(number: int) -> int:
    if number > MAX_PAGES:
        raise Invalid(
            _("file: a document has at most %(most)s pages, not %(number)s."),
            values={"most": f"{MAX_PAGES:,}", "number": f"{number:,}"},
            field="file",
            limit=MAX_PAGES,
        )
    return number


def _opened_pdf(data: bytes) -> Any:
    """Open a PDF. Raises Invalid for an encrypted or damaged one."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Invalid(_("file: the PDF is encrypted. Save it without a password."), field="file") from None
        raise damaged() from None


def _draw(data: bytes, most: int) -> Pictures:
    document = _opened_pdf(data)
    pages, files = _require_pages(len(document)), []
    for number in range(min(pages, most)):
        page = document[number]
        longest = max(1.0, *page.get_size())
        file = BytesIO()
        page.render(scale=PICTURE_SIDE / longest).to_pil().convert("RGB").save(file, "JPEG", quality=80)
        files.append(file.getvalue())
        page.close()
    return Pictures(tuple(files), pages)


def _pdf(data: bytes) -> Read:
    document = _opened_pdf(data)
    pages = _require_pages(len(document))

    def parts() -> Parts:
        for number in range(pages):
            page = document[number]
            words = page.get_textpage()
            # A hyphen at the end of a line is U+0002 (a word that goes on) or U+FFFE.
            text = re.sub(r"[\x02\ufffe]\r?\n?", "", words.get_text_range())
            words.close()
            page.close()
            yield f"[Page {number + 1}]\n{text}\n"

    return _text(parts()), pages


def _docx(data: bytes) -> Read:
    from docx import Document as open_docx
    from docx.table import Table

    document = open_docx(BytesIO(data))

    def parts(inner: Iterable[Any]) -> Parts:
        for block in inner:
            if isinstance(block, Table):
                yield from (_row(cell.text for cell in _unlike(row.cells)) for row in block.rows)
                yield ""
            else:
                style = (block.style.name or "") if block.style else ""
                level = re.fullmatch(r"Heading ([1-6])|(Title)", style)
                mark = "#" * int(level[1] or 1) + " " if level else "- " if style.startswith("List") else ""
                yield mark + block.text

    return _text(parts(document.iter_inner_content())), None


def _unlike(cells: Iterable[Any]) -> Iterator[Any]:
    """The cells of a row, a merged one once."""
    seen: list[Any] = []
    for cell in cells:
        if not any(cell._tc is other for other in seen):
            seen.append(cell._tc)
            yield cell


def _row(cells: Iterable[str]) -> str:
    return " | ".join(" ".join(cell.split()) for cell in cells)


def _pptx(data: bytes) -> Read:
    from pptx import Presentation

    slides = Presentation(BytesIO(data)).slides
    number_of_slides = _require_pages(len(slides))

    def of_shapes(shapes: Iterable[Any]) -> Parts:
        for shape in shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text
            elif getattr(shape, "has_table", False) and shape.has_table:
                yield from (_row(cell.text for cell in row.cells) for row in shape.table.rows)
            elif hasattr(shape, "shapes"):
                yield from of_shapes(shape.shapes)

    def parts() -> Parts:
        for number, slide in enumerate(slides, start=1):
            yield f"[Slide {number}]"
            yield from of_shapes(slide.shapes)
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
                yield f"Notes: {slide.notes_slide.notes_text_frame.text}"
            yield ""

    return _text(parts()), number_of_slides


def _xlsx(data: bytes) -> Read:
    from openpyxl import load_workbook

    book = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
    sheets = _require_pages(len(book.worksheets))

    def parts() -> Parts:
        cells = 0
        for sheet in book.worksheets:
            yield f"[Sheet {sheet.title}]"
            sheet.reset_dimensions()  # the file may claim a million columns
            for row in sheet.iter_rows(values_only=True):
                cells += len(row)
                if cells > MAX_CELLS:
                    raise Invalid(
                        _("file: a spreadsheet has at most %(most)s cells."),
                        values={"most": f"{MAX_CELLS:,}"},
                        field="file",
                        limit=MAX_CELLS,
                    )
                shown = ["" if cell is None else str(cell) for cell in row]
                if any(shown):
                    yield _row(shown).rstrip(" |")
            yield ""

    return _text(parts()), sheets


_OFFICE_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"


def _xml(data: bytes) -> Any:
    """The root of an XML file, without entities and without anything from the network."""
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _open_document(data: bytes) -> Read:
    with ZipFile(BytesIO(data)) as file:
        root = _xml(file.read("content.xml"))
    is_paged = any(element.tag.endswith(("}presentation", "}spreadsheet")) for element in root.iter("{*}*"))
    pages = sum(1 for _ in root.iter(f"{_OFFICE_DRAW}page", f"{_OFFICE_TABLE}table")) if is_paged else None
    return _text(_open_parts(root, is_paged=is_paged)), _require_pages(pages) if pages else None


def _open_parts(root: Any, *, is_paged: bool) -> Parts:
    """The text of an OpenDocument file; with `is_paged` of slides or sheets: a text document has neither."""
    slide = 0
    for element in root.iter("{*}*"):
        if element.tag == f"{_OFFICE_DRAW}page":
            slide += 1
            yield f"\n[Slide {slide}]"
        elif element.tag == f"{_OFFICE_TABLE}table":
            yield f"\n[Sheet {element.get(f'{_OFFICE_TABLE}name')}]" if is_paged else ""
        elif element.tag == f"{_OFFICE_TABLE}table-row":
            cells = element.iter(f"{_OFFICE_TABLE}table-cell")
            if row := _row("".join(cell.itertext()) for cell in cells).strip(" |"):
                yield row
        elif element.tag in (f"{_OFFICE_TEXT}p", f"{_OFFICE_TEXT}h") and not _is_in_table(element):
            level = int(element.get(f"{_OFFICE_TEXT}outline-level") or 1)
            mark = "#" * min(level, 6) + " " if element.tag.endswith("}h") else ""
            yield mark + "".join(element.itertext())


def _is_in_table(element: Any) -> bool:
    return next(element.iterancestors(f"{_OFFICE_TABLE}table-row"), None) is not None


def _epub(data: bytes) -> Read:
    with ZipFile(BytesIO(data)) as file:
        container = _xml(file.read("META-INF/container.xml"))
        path = next(element.get("full-path") for element in container.iter("{*}rootfile"))
        package = _xml(file.read(path))
        addresses = {item.get("id"): item.get("href") for item in package.iter("{*}item")}
        spine = [addresses.get(item.get("idref")) for item in package.iter("{*}itemref")]
        names = [normpath(join(dirname(path), unquote(address))) for address in spine if address]
        return _text(_of_html(file.read(name)) + "\n" for name in names), None


def _of_html(html: bytes | str) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "lxml")  # "html.parser" takes quadratic time for tags that do not end
    for hidden in soup(["script", "style", "template", "noscript"]):
        hidden.decompose()
    return soup.get_text("\n", strip=True)


def _rtf(data: bytes) -> Read:
    from striprtf.striprtf import rtf_to_text

    return _text([rtf_to_text(data.decode("latin-1"), errors="ignore")]), None


def _eml(data: bytes) -> Read:
    mail = message_from_bytes(data, policy=policy.default)

    def parts() -> Parts:
        yield from (f"{name}: {mail[name]}" for name in ("From", "To", "Cc", "Date", "Subject") if mail[name])
        yield ""
        body = mail.get_body(preferencelist=("plain", "html"))
        if body is not None:
            text = body.get_content()
            yield _of_html(text) if body.get_content_subtype() == "html" else text
        names = [part.get_filename() or part.get_content_type() for part in mail.iter_attachments()]
        if names:
            yield f"\n[Attached, not read: {', '.join(names)}]"

    return _text(parts()), None


_READERS: dict[str, Callable[[bytes], Read]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "odt": _open_document,
    "ods": _open_document,
    "odp": _open_document,
    "epub": _epub,
    "rtf": _rtf,
    "eml": _eml,
}
