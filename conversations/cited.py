"""A summary as HTML, with the numbers of the messages that each of its statements comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from conversations import markdown
from conversations.citations import cite
from conversations.markdown import MAX_MARKDOWN, clean, parser

OPENING = 90
"""Characters of a source that its links say."""
_NEXT_SENTENCE = re.compile(r"(?<=[.!?;。！？；])(?=\s)")
_LABEL = r"(?:[^\W\d_][\w /&-]{0,40}:\s*)?"
_NOTHING = re.compile(
    rf"\W*+{_LABEL}\W*+(?:none|nothing|nil|n/?a|not applicable|unknown|tbd|no(?= )|not any)"
    r"(?: (?:yet|so far|at all|at present|currently|known|open|pending|new|further|else|were|was|are|is|have|has|been|"
    r"mentioned|stated|given|noted|recorded|specified|discussed|made|decided|changed|identified|provided|remaining|"
    r"files?|facts?|decisions?|goals?|tasks?|questions?|steps?|items?|artifacts?|constraints?|preferences?))*+\W*+",
    re.IGNORECASE,
)
"""A statement that its section holds none, with or without the name of what it is none of."""
BREAKS = ("softbreak", "hardbreak")
ENDS = (".", "!", "?", ";", "。", "！", "？", "；")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, or what a line has of one: some of the pieces of a line of Markdown, at whose end its numbers go."""

    pieces: list[Token]

    @property
    def text(self) -> str:
        return "".join(" " if piece.type in BREAKS else piece.content for piece in self.pieces)

    @property
    def claim(self) -> str:
        """The text that may have a source; "" where it says that there is nothing."""
        return "" if _NOTHING.fullmatch(self.text) else self.text


def rendered(summary: str, sources: Sequence[str]) -> SafeString:
    """Sanitised HTML, in which the number n leads to `#source-n`, the n-th of `sources`.

    The numbers go in before it is sanitised, so they bring in nothing that a model's own Markdown could not.
    """
    if len(summary) > MAX_MARKDOWN:
        return markdown.render(summary)
    tokens = parser.parse(summary)
    lines = [(line, list(_statements(line))) for line in _lines(tokens)]
    statements = [statement for _, line in lines for statement in line]
    for statement, found in zip(statements, cite([one.claim for one in statements], sources), strict=True):
        if found:
            statement.pieces.append(_numbers(found, sources))
    for token, line in lines:
        token.children = [piece for statement in line for piece in statement.pieces]
    return mark_safe(clean(parser.renderer.render(tokens, parser.options, {})))


def _lines(tokens: Sequence[Token]) -> Iterator[Token]:
    """What says something: all text but headings."""
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type != "heading_open":
            yield token


def _statements(line: Token) -> Iterator[Statement]:
    run: list[Token] = []
    for piece in (part for child in line.children or () for part in _sentences(child)):
        if run and (piece.type in BREAKS or _ends(run[-1])):
            yield Statement(run)
            run = []
        run.append(piece)
    yield Statement(run)


def _sentences(piece: Token) -> list[Token]:
    """A text's sentences; of what stands within a link or emphasis no sentence ends."""
    if piece.type != "text" or piece.level:
        return [piece]
    return [piece.copy(content=part) for part in _NEXT_SENTENCE.split(piece.content)]


def _ends(piece: Token) -> bool:
    return piece.type == "text" and not piece.level and piece.content.endswith(ENDS)


def _numbers(places: Sequence[int], sources: Sequence[str]) -> Token:
    links = "".join(
        f'<a href="#source-{place + 1}" title="{escape(_opening(sources[place]))}">'
        f'<span class="unseen">Source </span>{place + 1}</a>'
        for place in places
    )
    return Token("html_inline", "", 0, content=f'<span class="cites">{links}</span>')


def _opening(source: str) -> str:
    words = " ".join(source[: 2 * OPENING].split())
    return words if len(words) <= OPENING else f"{words[:OPENING]}…"
