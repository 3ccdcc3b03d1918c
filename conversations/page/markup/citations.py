"""Renders a summary as HTML in which each statement cites, by number, the messages that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from conversations.page.markup import markdown
from conversations.page.markup.markdown import MAX_MARKDOWN, clean, parser
from conversations.page.markup.source_matching import sources_of

TITLE_CHARS = 90
"""Characters of a source in the title of its links."""
_NEXT_SENTENCE = re.compile(r"(?<=[.!?;。！？；])(?=\s)")
_LABEL = r"(?:[^\W\d_][\w /&-]{0,40}:\s*)?"
_EMPTY_SECTION = re.compile(
    rf"\W*+{_LABEL}\W*+(?:none|nothing|nil|n/?a|not applicable|unknown|tbd|no(?= )|not any)"
    r"(?: (?:yet|so far|at all|at present|currently|known|open|pending|new|further|else|were|was|are|is|have|has|been|"
    r"mentioned|stated|given|noted|recorded|specified|discussed|made|decided|changed|identified|provided|remaining|"
    r"files?|facts?|decisions?|goals?|tasks?|questions?|steps?|items?|artifacts?|constraints?|preferences?))*+\W*+",
    re.IGNORECASE,
)
"""Matches a statement that its section is empty ("None yet.", "No open questions"), with or without a label."""
BREAKS = ("softbreak", "hardbreak")
ENDS = (".", "!", "?", ";", "。", "！", "？", "；")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a line of Markdown, as inline tokens; its source numbers are appended to them."""

    pieces: list[Token]

    @property
    def text(self) -> str:
        return "".join(" " if piece.type in BREAKS else piece.content for piece in self.pieces)

    @property
    def claim(self) -> str:
        """The text to look for in the sources; "" if the statement only says that there is nothing."""
        return "" if _EMPTY_SECTION.fullmatch(self.text) else self.text


def rendered(summary: str, sources: Sequence[str]) -> SafeString:
    """Sanitised HTML, in which the number n links to `#source-n`, the n-th of `sources`.

    Numbers are inserted before sanitising, so they allow no markup that a model's own Markdown could not have.
    """
    if len(summary) > MAX_MARKDOWN:
        return markdown.render_markdown(summary)
    tokens = parser.parse(summary)
    lines = [(line, list(_statements(line))) for line in _lines(tokens)]
    statements = [statement for _, line in lines for statement in line]
    for statement, places in zip(
        statements, sources_of([statement.claim for statement in statements], sources), strict=True
    ):
        if places:
            statement.pieces.append(_source_links(places, sources))
    for token, line in lines:
        token.children = [piece for statement in line for piece in statement.pieces]
    return mark_safe(clean(parser.renderer.render(tokens, parser.options, {})))


def _lines(tokens: Sequence[Token]) -> Iterator[Token]:
    """The inline tokens that can hold statements: all text except headings."""
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type != "heading_open":
            yield token


def _statements(line: Token) -> Iterator[Statement]:
    run: list[Token] = []
    for piece in (part for child in line.children or () for part in _sentences(child)):
        if run and (piece.type in BREAKS or _ends_sentence(run[-1])):
            yield Statement(run)
            run = []
        run.append(piece)
    yield Statement(run)


def _sentences(piece: Token) -> list[Token]:
    """The sentences of a text token. A sentence never ends within a link or emphasis."""
    if piece.type != "text" or piece.level:
        return [piece]
    return [piece.copy(content=part) for part in _NEXT_SENTENCE.split(piece.content)]


def _ends_sentence(piece: Token) -> bool:
    return piece.type == "text" and not piece.level and piece.content.endswith(ENDS)


def _source_links(places: Sequence[int], sources: Sequence[str]) -> Token:
    links = "".join(
        f'<a href="#source-{place + 1}" title="{escape(_title(sources[place]))}">'
        f'<span class="unseen">Source </span>{place + 1}</a>'
        for place in places
    )
    return Token("html_inline", "", 0, content=f'<span class="cites">{links}</span>')


def _title(source: str) -> str:
    words = " ".join(source[: 2 * TITLE_CHARS].split())
    return words if len(words) <= TITLE_CHARS else f"{words[:TITLE_CHARS]}…"
