"""How much of a document is read: `python -m benchmarks.documents`.

Twenty documents are made from known words, in five languages: papers in two columns, tables and letters as PDF (printed
by Chromium), Word, PowerPoint, Excel, OpenDocument, EPUB, RTF and mail, and two scans, whose pages are pictures. For
each: the share of its words that are read, the pages whose first words stand under their own page, seconds and MB.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import Iterator
from html import escape
from io import BytesIO
from typing import Any, NamedTuple

from benchmarks.goals import end, note, sized

PAGES = sized(12, small=2)
WORDS = 260
"""Words of a page."""
GOAL_WORDS, GOAL_PAGES = 0.99, 1.0
LANGUAGES = {
    "English": "the service listens port because nobody may restart before Friday through which every request comes",
    "German": "der Dienst läuft über den Anschluss weil niemand größere Änderungen vor Freitag prüfen möchte",
    "French": "le service écoute déjà parce que personne ne peut redémarrer où la requête arrive à l'été",
    "Spanish": "el servicio escucha porque nadie puede reiniciar mañana según cada petición llegó también aquí",
    "Polish": "usługa słucha ponieważ nikt nie może jej uruchomić zanim każde żądanie przejdzie przez łącze",
}


class Made(NamedTuple):
    """A document with its pages as words; `is_paged`: its format has pages that a reader can name."""

    name: str
    data: bytes
    pages: list[list[str]]
    is_paged: bool


def main() -> None:
    shares, right, seconds = [], [], []
    for made in documents():
        began = time.perf_counter()
        read = _text(made)
        took = time.perf_counter() - began
        share, pages = _found(made, read), _right(made, read)
        shares.append(share)
        seconds.append(took)
        right += [pages] if made.is_paged else []
        named = f"{pages:.2f} of pages" if made.is_paged else "no pages"
        print(f"{made.name:28} {share:.3f} of words, {named}, {took:.2f} s, {len(made.data) / 1e6:.2f} MB")
    for pages in _scans():
        print(f"{'scan, 3 pages':28} drawn as {pages} pictures for a model that sees")
    share, pages = statistics.mean(shares), statistics.mean(right)
    missed = note(share >= GOAL_WORDS, f"words: {share:.3f}, not {GOAL_WORDS}")
    wrong = note(pages >= GOAL_PAGES, f"pages: {pages:.2f}, not {GOAL_PAGES}")
    print(
        f"all: {share:.3f} of words{missed}, {pages:.2f} of pages{wrong}, {statistics.median(seconds):.2f} s (median)"
    )
    end()


def documents() -> Iterator[Made]:
    """The documents that have text."""
    yield from _printed()
    english, german, polish = (_pages(language) for language in ("English", "German", "Polish"))
    yield Made("Word, German", _docx(german), german, is_paged=False)
    yield Made("Word, Polish", _docx(polish), polish, is_paged=False)
    yield Made("PowerPoint, English", _pptx(english), english, is_paged=True)
    yield Made("Excel, German", _xlsx(german), german, is_paged=False)
    yield Made("OpenDocument, Polish", _odt(polish), polish, is_paged=False)
    yield Made("EPUB, German", _epub(german), german, is_paged=False)
    yield Made("RTF, English", _rtf(english), english, is_paged=False)
    yield Made("mail, Polish", _eml(polish), polish, is_paged=False)


def _printed() -> Iterator[Made]:
    """A paper in two columns and a table of each language, as Chromium prints them."""
    from playwright.sync_api import sync_playwright

    from tests.needs import CHROMIUM

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM.find()), args=["--no-sandbox"])
        page = browser.new_page()
        for language in LANGUAGES:
            pages = _pages(language)
            for kind, form in (("paper", _columns), ("table", _table)):
                page.set_content("".join(f"<section>{form(words)}</section>" for words in pages))
                page.add_style_tag(content="section { break-after: page; font: 10px serif } section div { columns: 2 }")
                yield Made(f"PDF, {kind}, {language}", page.pdf(format="A4"), pages, is_paged=True)
        browser.close()


def _pages(language: str) -> list[list[str]]:
    """Pages of words of a language; each begins with a word that stands on no other."""
    chance, words = random.Random(language), LANGUAGES[language].split()
    return [[f"begin{number}x", *(chance.choice(words) for _ in range(WORDS))] for number in range(1, PAGES + 1)]


def _columns(words: list[str]) -> str:
    return f"<h2>{escape(words[0])}</h2><div>{escape(' '.join(words[1:]))}</div>"


def _table(words: list[str]) -> str:
    rows = [words[at : at + 6] for at in range(0, len(words), 6)]
    cells = ("".join(f"<td>{escape(word)}</td>" for word in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _docx(pages: list[list[str]]) -> bytes:
    from docx import Document

    document = Document()
    for words in pages:
        document.add_heading(words[0], 2)
        document.add_paragraph(" ".join(words[1:100]))
        table = document.add_table(1, 3)
        for cell, at in zip(table.rows[0].cells, (100, 150, 200), strict=True):
            cell.text = " ".join(words[at : at + 50])
        document.add_paragraph(" ".join(words[250:]), style="List Bullet")
    return _saved(document)


def _pptx(pages: list[list[str]]) -> bytes:
    from pptx import Presentation

    slides = Presentation()
    for words in pages:
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = words[0]
        slide.placeholders[1].text = " ".join(words[1:150])
        slide.notes_slide.notes_text_frame.text = " ".join(words[150:])
    return _saved(slides)


def _xlsx(pages: list[list[str]]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    for words in pages:
        sheet = book.create_sheet(words[0])
        for at in range(0, len(words), 8):
            sheet.append(words[at : at + 8])
    return _saved(book)


def _odt(pages: list[list[str]]) -> bytes:
    from tests.conversations.documents import open_document

    body = "".join(f"<text:h>{words[0]}</text:h><text:p>{' '.join(words[1:])}</text:p>" for words in pages)
    return open_document("text", f"<office:text>{body}</office:text>")


def _epub(pages: list[list[str]]) -> bytes:
    from tests.conversations.documents import zipped

    names = [f"{number}.xhtml" for number in range(len(pages))]
    items = "".join(f"<item id='i{name}' href='{name}'/>" for name in names)
    spine = "".join(f"<itemref idref='i{name}'/>" for name in names)
    return zipped({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container><rootfiles><rootfile full-path='b.opf'/></rootfiles></container>",
        "b.opf": f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{name: f"<html><p>{' '.join(words)}</p></html>" for name, words in zip(names, pages, strict=True)},
    })  # fmt: skip


def _rtf(pages: list[list[str]]) -> bytes:
    return b"{\\rtf1\\ansi " + b"\\par ".join(" ".join(words).encode("latin-1") for words in pages) + b"}"


def _eml(pages: list[list[str]]) -> bytes:
    from email.message import EmailMessage

    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Message-ID"] = (
        "a@a.example",
        "b@b.example",
        "Words",
        "<1@a.example>",
    )
    mail.set_content("\n".join(" ".join(words) for words in pages))
    return bytes(mail)


def _saved(document: Any) -> bytes:
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _scans() -> Iterator[int]:
    """The number of pictures of each scan."""
    from conversations.messages.documents import draw_pages
    from tests.conversations.documents import scan

    for _ in range(2):
        yield len(draw_pages(scan(3), most=10).files)


def _text(made: Made) -> str:
    from conversations.messages.documents import kind_of, read_document

    return read_document(made.data, kind_of(made.data)).text


def _found(made: Made, text: str) -> float:
    """The share of the words that were read, counted as often as they stand in the source at most."""
    left: dict[str, int] = {}
    for word in re.findall(r"[\w'’]+", text):
        left[word] = left.get(word, 0) + 1
    source = [word for words in made.pages for word in words]
    found = 0
    for word in source:
        if left.get(word, 0):
            left[word] -= 1
            found += 1
    return found / len(source)


def _right(made: Made, text: str) -> float:
    """The share of the pages whose own first word is read between their line and the next one."""
    parts = re.split(r"^\[(?:Page|Slide) \d+\]$", text, flags=re.MULTILINE)[1:]
    return sum(words[0] in part for words, part in zip(made.pages, parts, strict=False)) / len(made.pages)


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    main()
