"""Damaged documents, images and imports, and hostile Markdown: read, or refused in words, within a reader's limits."""

from __future__ import annotations

import io
import time
import zipfile
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from conversations.errors import Invalid
from conversations.messages import documents, images
from conversations.page.markup import markdown
from tests.conversations import documents as made
from tests.fuzzing.mutations import TEXTS, damaged, fuzzed

FILES = (made.pdf("The zebra listens on 7781.", "Page two."), made.RTF, made.EML)
ZIPS = (made.docx(), made.pptx(), made.xlsx(), made.odt(), made.ods(), made.epub())
SPARE_SECONDS = 5
FRAGMENTS = st.sampled_from(
    [
        *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<form action=//evil>"),
        *("[a](javascript:alert(1))", "![a](data:text/html,x)", "[a]: javascript:alert(1)", "[a][a]", "&lt;script&gt;"),
        *(
            "<a href='java\tscript:alert(1)'>",
            "\\href{javascript:alert(1)}{x}",
            "&#106;avascript:",
            "<iframe>",
            "<style>",
        ),
        *(
            "<style>",
            "<!--",
            "-->",
            "</div>",
            "```html\n",
            "$$",
            "\\(",
            "$x^2$",
            "|a|b|\n|-|-|\n",
            "https://example.org/?a=b&c",
        ),
        *("*", "**", "_", "`", "> ", "- [x] ", "1. ", "\n", "\n\n", "    ", "[^1]", "[^1]: note", "\0", "\u2028"),
    ]
)
HTML = (
    "a abbr blockquote br button code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input kbd label li ol p "
    "path pre s span strong sub summary sup svg table tbody td th thead tr ul use"
)
TAGS = frozenset(HTML.split())


def picture(format: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (60, 40), "teal").save(file, format)
    return file.getvalue()


PICTURES = tuple(map(picture, ("PNG", "JPEG", "WEBP", "GIF")))


@st.composite
def damaged_members(draw: st.DrawFn) -> bytes:
    """A sound zip of a document, one member of which is damaged."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(draw(st.sampled_from(ZIPS)))) as read, zipfile.ZipFile(file, "w") as written:
        chosen = draw(st.sampled_from(read.namelist()))
        for name in read.namelist():
            data = read.read(name)
            written.writestr(name, draw(damaged(data)) if name == chosen else data)
    return file.getvalue()


@fuzzed
@given(data=damaged(*FILES, *ZIPS) | damaged_members())
def test_any_document(data: bytes) -> None:
    began = time.monotonic()
    try:
        kind = documents.kind_of(data)
        if kind:
            assert documents.read_document(data, kind).text.strip()
    except Invalid as refused:
        assert refused.message.startswith("file: ") and refused.detail["field"] == "file"
    assert time.monotonic() - began < documents.SECONDS + SPARE_SECONDS


@fuzzed
@given(data=damaged(*PICTURES))
def test_any_image(data: bytes) -> None:
    if not images.is_image(data):
        return
    try:
        read = images.read_image(data)
    except Invalid as refused:
        assert refused.detail["field"] == "file"
    else:
        assert read.data


class Seen(HTMLParser):
    """The elements and attributes of HTML as a browser reads it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.mark.once
@fuzzed
@given(pieces=st.lists(FRAGMENTS | TEXTS.filter(lambda text: len(text) < 1_000), max_size=14))
def test_any_markdown(pieces: list[str]) -> None:
    html = markdown.html_of("".join(pieces).encode("utf-8", "replace").decode())
    seen = Seen(html)
    mathml = {tag for tag in seen.tags if tag.startswith(("m", "semantics", "annotation"))}
    assert seen.tags - mathml <= TAGS, seen.tags - mathml - TAGS
    for name, value in seen.attributes:
        assert (not name.startswith("on") and name not in ("srcdoc", "formaction", "style")) or name == "style", name
        if name in ("href", "src", "action", "xlink:href"):
            assert not value.strip().lower().startswith(("javascript:", "data:text", "vbscript:")), value
