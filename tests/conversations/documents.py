"""Documents of each kind, made by hand or by the libraries that people's programs use."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile


def pdf(*pages: str, encrypt: bool = False) -> bytes:
    """A PDF with the lines of each page in Helvetica."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    kids = []
    for page in pages:
        lines = "".join(f"({line.replace('(', '[').replace(')', ']')}) Tj 0 -14 Td " for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 60 760 Td {lines}ET"
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
        font = "<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
        content = len(objects)
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {content} 0 R/Resources<</Font{font}>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
    key = (
        "/Encrypt<</Filter/Standard/V 1/R 2/P -4/O(" + "o" * 32 + ")/U(" + "u" * 32 + ")>>/ID[(a)(a)]"
        if encrypt
        else ""
    )
    return _assembled(objects, key)


def _assembled(objects: list[str], key: str = "") -> bytes:
    """A PDF of objects, the first one its catalogue."""
    text, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(text))
        text += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R{key}>>\nstartxref\n{len(text)}\n%%EOF"
    return f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")


def docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("Ports of the Billing Service", 1)
    document.add_paragraph("The zebra service listens on 7781.")
    table = document.add_table(2, 2)
    for row, values in zip(table.rows, (("service", "port"), ("gnu", "7782")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("Öl, 港口, порт.", style="List Bullet")
    return _saved(document)


def pptx() -> bytes:
    from pptx import Presentation

    slides = Presentation()
    for title in ("The zebra listens on 7781", "Questions?"):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "Second line"
        slide.notes_slide.notes_text_frame.text = "Say it slowly."
    return _saved(slides)


def xlsx() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Ports"
    book.active.append(["service", "port", None])
    book.active.append(["zebra", 7781, None])
    book.create_sheet("More").append(["total", 2.5])
    return _saved(book)


def _saved(document: object) -> bytes:
    file = BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


def zipped(members: dict[str, str | bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as zip_file:
        for name, data in members.items():
            zip_file.writestr(name, data)
    return file.getvalue()


_NAMES = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ' + " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (("text", "text"), ("table", "table"), ("draw", "drawing"))
)


def open_document(kind: str, body: str) -> bytes:
    content = f"<office:document-content {_NAMES}><office:body>{body}</office:body></office:document-content>"
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content})


def odt() -> bytes:
    return open_document(
        "text",
        "<office:text><text:h text:outline-level='2'>Ports</text:h><text:p>The zebra <text:span>listens</text:span> on "
        "7781.</text:p><table:table><table:table-row><table:table-cell><text:p>gnu</text:p></table:table-cell>"
        "<table:table-cell><text:p>7782</text:p></table:table-cell></table:table-row></table:table></office:text>",
    )


def ods() -> bytes:
    return open_document(
        "spreadsheet",
        "<office:spreadsheet><table:table table:name='Ports'><table:table-row><table:table-cell><text:p>zebra</text:p>"
        "</table:table-cell><table:table-cell><text:p>7781</text:p></table:table-cell></table:table-row></table:table>"
        "</office:spreadsheet>",
    )


def epub() -> bytes:
    return zipped({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>",
        "OPS/book.opf": "<package><manifest><item id='b' href='two.xhtml'/><item id='a' href='one%20.xhtml'/>"
        "</manifest><spine><itemref idref='a'/><itemref idref='b'/></spine></package>",
        "OPS/one .xhtml": "<html><head><style>p{}</style></head><body><h1>One</h1><p>The zebra listens on 7781.</p>"
        "<script>alert(1)</script></body></html>",
        "OPS/two.xhtml": "<p>Two</p>",
    })  # fmt: skip


RTF = rb"{\rtf1\ansi{\fonttbl\f0 Arial;}\f0 The zebra listens on {\b 7781}. \'d6l.\par}"
EML = (
    b"From: Ann <ann@a.example>\r\nTo: Bob <bob@b.example>\r\nSubject: =?utf-8?q?=C3=96l?= and ports\r\n"
    b"Date: Mon, 23 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n'
    b"<p>The zebra listens on <b>7781</b>.</p>\r\n--b\r\nContent-Type: text/plain\r\n"
    b'Content-Disposition: attachment; filename="plan.txt"\r\n\r\nsecret\r\n--b--\r\n'
)


def scan(pages: int, *, size: tuple[int, int] = (620, 877)) -> bytes:
    """A PDF whose pages are pictures, each of another colour."""
    from PIL import Image

    pictures = [Image.new("RGB", size, (20 * number % 256, 90, 160)) for number in range(pages)]
    file = BytesIO()
    pictures[0].save(file, "PDF", save_all=True, append_images=pictures[1:])
    return file.getvalue()


def form(label: str, value: str) -> bytes:
    """A PDF with a form's field: its value has an appearance of its own beside the page."""
    page = f"BT /F1 12 Tf 60 760 Td ({label}) Tj ET"
    field = f"/Tx BMC BT /F1 12 Tf 2 5 Td ({value}) Tj ET EMC"
    font = "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    objects = [
        "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R]>>>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R{font}/Annots[5 0 R]>>",
        f"<</Length {len(page)}>>stream\n{page}\nendstream",
        f"<</Type/Annot/Subtype/Widget/FT/Tx/F 4/T(name)/V({value})/P 3 0 R/Rect[120 750 300 770]/AP<</N 6 0 R>>>>",
        f"<</Type/XObject/Subtype/Form/BBox[0 0 180 20]{font}/Length {len(field)}>>stream\n{field}\nendstream",
    ]
    return _assembled(objects)
