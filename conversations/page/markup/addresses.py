"""Makes links of bare web addresses in a person's words, and, as a Markdown plugin, in a model's.

The plugin also keeps the line break before a line that begins with a bullet sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from compression.core.lazy_pattern import lazy_pattern

_ADDRESS = lazy_pattern(
    r"(?<![A-Za-z0-9/@.])(?:https?://|www\.(?=[a-z0-9-]{1,63}\.[a-z]))"
    r"(?:[A-Za-z0-9_\-.~:/?#\[\]@!$&'()*+,;=%\u00c0-\u024f\u0370-\u04ff]"
    r"|(?<=[/=_])[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]++){1,2000}",
    re.IGNORECASE,
)
"""An address, with its scheme or from `www.` on.

CJK letters belong to it only as a whole part of its path, as their sentences have no blanks.
"""
_AFTER_SENTENCE = ".,;:!?'\"*_~"
_BULLETS = ("•", "‣", "◦", "●", "▪")


def linked(text: str) -> SafeString:
    """A plain text as HTML whose addresses are links."""
    return mark_safe("".join(_as_html(words, is_address) for words, is_address in _split(text)))


def addresses(parser: MarkdownIt) -> None:
    """Install the plugin, a core rule over the finished texts."""
    parser.core.ruler.push("addresses", _rule)


def _rule(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = list(_linked(token.children, state.md))


def _linked(children: list[Token], parser: MarkdownIt) -> Iterator[Token]:
    links = 0
    for at, child in enumerate(children):
        links += (child.type == "link_open") - (child.type == "link_close")
        if child.type == "softbreak" and at + 1 < len(children) and children[at + 1].content.startswith(_BULLETS):
            child.type = "hardbreak"
        if child.type == "text" and not links and ("://" in child.content or "www." in child.content.lower()):
            yield from _parts(child, parser)
        else:
            yield child


def _parts(text: Token, parser: MarkdownIt) -> Iterator[Token]:
    """The text with a link for each address in it, without the sign that ends its sentence."""
    for words, is_address in _split(text.content):
        if is_address:
            yield Token("link_open", "a", 1, attrs={"href": parser.normalizeLink(_target(words))})
        yield _text(text, words)
        if is_address:
            yield Token("link_close", "a", -1)


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, each with whether it is an address."""
    at = 0
    for found in _ADDRESS.finditer(text):
        address = _trimmed(found[0])
        if address.endswith("//"):
            continue
        yield text[at : found.start()], False
        yield address, True
        at = found.start() + len(address)
    yield text[at:], False


def _as_html(words: str, is_address: bool) -> str:
    shown, target = escape(words), escape(_target(words))
    return f'<a href="{target}" target="_blank" rel="noopener nofollow">{shown}</a>' if is_address else shown


def _target(address: str) -> str:
    """The address with its scheme, which one that begins with `www.` lacks."""
    return f"https://{address}" if address[:4].lower() == "www." else address


def _trimmed(address: str) -> str:
    """The address without signs after it, and without a bracket that opens before it."""
    while address:
        short = address.rstrip(_AFTER_SENTENCE)
        for opening, closing in ("()", "[]"):
            if short.endswith(closing) and short.count(closing) > short.count(opening):
                short = short[:-1]
        if short == address:
            break
        address = short
    return address


def _text(like: Token, words: str) -> Token:
    return Token("text", "", 0, content=words, level=like.level)
