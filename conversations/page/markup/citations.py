"""Renders a summary as HTML in which each statement cites, by number, the messages that it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from urllib.parse import quote

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it.token import Token

from compression.core.citation_values import Citations
from compression.core.citations.claims import Claim, claims_in
from compression.core.citations.marks import without_marks
from compression.core.text.statements import BY_ORIGIN, IMPORTED_USER, USER
from conversations.page.markup import markdown
from conversations.page.markup.markdown import MAX_MARKDOWN, clean, parser

TITLE_CHARS = 90
"""Characters of a source in the title of its links."""
MISSING_SHOWN, MISSING_CHARS = 3, 40
"""The most texts without a message that are named at their statement, and the most characters of each."""
SIGN = "\U00016fe2"
"""A character around a statement's number, at its end, during the parsing of its Markdown.

It is a punctuation mark, beside which emphasis ends as beside a full stop, of a script that is not in use.
"""
_PERSON = re.compile(rf"(?<=[>\n])(?:{IMPORTED_USER}|{BY_ORIGIN['import']}|{USER})(?=(?:, \d{{4}}-\d\d-\d\d)?: )")
"""A person's label at the beginning of a line of HTML."""
_PLACE = re.compile(rf"{SIGN}(\d+){SIGN}")
_ENCODED = re.compile(rf"(?:{re.escape(quote(SIGN))}\d+{re.escape(quote(SIGN))})+")

Sources = Mapping[str, tuple[int, str]]
"""The number and the text of each message that is shown beside the summary, by its id."""
Note = Callable[[int], str]
"""The HTML at the end of the statement with a number."""


def rendered_for_person(summary: str, citations: Citations | None, sources: Sources) -> SafeString:
    """`rendered`, in which the page's own person is called "You"."""
    return mark_safe(_PERSON.sub(_("You"), rendered(summary, citations, sources)))


def rendered(summary: str, citations: Citations | None, sources: Sources) -> SafeString:
    """Sanitised HTML: the number n links to `#source-n`, and a statement names its unsupported texts.

    Numbers are inserted before sanitising, so they allow no markup that a model's own Markdown could not have.
    """
    text = without_marks(summary).replace(SIGN, "")
    claims = claims_in(text)
    if citations is None or len(summary) > MAX_MARKDOWN or len(claims) != len(citations.places):
        return markdown.render_markdown(summary)

    def note(number: int) -> str:
        shown = [sources[id] for id in citations.ids_of(number) if id in sources]
        return _unfound(citations.missing[number]) if number in citations.missing else _links(shown)

    tokens = parser.parse(_numbered(text, claims))
    for token in tokens:
        if token.type == "inline":
            token.children = list(_noted(token.children or [], note))
        else:
            _strip(token)
    return mark_safe(clean(parser.renderer.render(tokens, parser.options, {})))


def _numbered(text: str, claims: Sequence[Claim]) -> str:
    """The text with its number at the end of each statement."""
    parts: list[str] = []
    at = 0
    for number, claim in enumerate(claims):
        parts += [text[at : claim.end], f"{SIGN}{number}{SIGN}"]
        at = claim.end
    return "".join([*parts, text[at:]])


def _noted(pieces: Sequence[Token], note: Note) -> Iterator[Token]:
    """The inline tokens with notes in place of numbers; those within a link stand after it."""
    waiting: list[Token] = []
    links = 0
    for piece in pieces:
        links += (piece.type == "link_open") - (piece.type == "link_close")
        parts = _PLACE.split(piece.content)
        notes = [_note(note(int(number))) for number in parts[1::2]]
        if piece.type == "text" and not links:
            for at, part in enumerate(parts):
                yield notes[at // 2] if at % 2 else piece.copy(content=part)
            notes = []
        else:
            _strip(piece)
            yield piece
        waiting += notes
        if not links:
            yield from waiting
            waiting = []
    yield from waiting


def _note(html: str) -> Token:
    return Token("html_inline", "", 0, content=html)


def _strip(token: Token) -> None:
    """Remove the numbers from a token whose text is no prose."""
    token.content = _PLACE.sub("", token.content)
    token.info = _PLACE.sub("", token.info)
    for name, value in token.attrs.items():
        token.attrs[name] = _ENCODED.sub("", _PLACE.sub("", str(value)))
    for child in token.children or ():
        _strip(child)


def _links(shown: Sequence[tuple[int, str]]) -> str:
    source = escape(_("Source"))
    links = "".join(
        f'<a href="#source-{number}" title="{escape(_title(text))}"><span class="unseen">{source} </span>{number}</a>'
        for number, text in shown
    )
    return f'<span class="cites">{links}</span>' if links else ""


def _unfound(texts: Sequence[str]) -> str:
    """The words at a statement that no message supports."""
    named = ", ".join(_cut(text, MISSING_CHARS) for text in texts[:MISSING_SHOWN])
    words = _("not found in the messages: %(texts)s") % {"texts": named}
    return f' <span class="unfound">{escape(words)}</span>'


def _title(source: str) -> str:
    return _cut(" ".join(source[: 2 * TITLE_CHARS].split()), TITLE_CHARS)


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else f"{words[:limit]}…"
