"""A model's Markdown as HTML that can be shown: no HTML of its own, no remote images, no script in links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from html import escape
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from conversations import formulas
from conversations.colours import NotColoured, coloured
from conversations.controls import visible
from conversations.tables import tables

MAX_MARKDOWN = 40_000
"""Characters; a longer text is shown as it is, so that rendering takes under a second whatever it holds."""
NESTING = 20
SCHEMES = ("http://", "https://", "mailto:")
SCROLLS = 'tabindex="0" role="group" aria-label="{}"'
"""Of a box with its own scroll bar: the keyboard reaches it."""
_NUMBER = re.compile(r"\A(\s*\d+)([.)]\s*)\Z")
"""A text that is a number with a full stop: as Markdown it is the beginning of a list with nothing in it."""
_BOX = re.compile(r"\[([ xX])\]\s")
MARKS = re.compile(r"```\w*|`|\*\*(?=\S)|(?<=\S)\*\*|^#{1,6} ", re.MULTILINE)
"""What is of no use where a text is shown in a line."""

clean = partial(
    nh3.clean,
    tags={
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "strong", "em", "s"),
        *("a", "code", "pre", "span", "div", "button", "table", "thead", "tbody", "tr", "th", "td"),
        *formulas.TAGS,
    },
    attributes={
        "a": {"href", "title", "target"},
        "ol": {"start"},
        "th": {"align"},
        "td": {"align"},
        "button": {"type"},
        "code": {"class"},
        **{tag: {"class", "role", "tabindex", "aria-label"} for tag in ("span", "div", "pre")},
        **formulas.ATTRIBUTES,
    },
    attribute_filter=lambda tag, name, value: value if formulas.is_length(tag, name, value) else None,
    url_schemes={scheme.partition(":")[0] for scheme in SCHEMES},
    link_rel="noopener nofollow",
)


class Renderer(RendererHTML):
    """The stock renderer, with code boxes, tables that scroll by themselves, and links in place of images."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        language, plain = words[0] if words else "", env.get("plain_code", False)
        try:
            return code_box(tokens[idx].content, language, plain=plain)
        except NotColoured as refusal:
            # Of a text that has taken too long the rest is plain, too.
            env["plain_code"], env["is_final"] = True, env.get("is_final", True) and refusal.is_final
            return code_box(tokens[idx].content, language, plain=True)

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return code_box(tokens[idx].content, "")

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("target", "_blank")
        return self.renderToken(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        source = str(tokens[idx].attrs.get("src", ""))
        words = self.renderInlineAsText(tokens[idx].children or [], options, env)
        return f'<a href="{escapeHtml(source)}" target="_blank">{escapeHtml(words or source)}</a>'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<div class="table" {SCROLLS.format("Table")}><table>'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def task(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        done = tokens[idx].meta["done"]
        return f'<span class="task" role="img" aria-label="{"Done" if done else "To do"}">{"☑" if done else "☐"}</span>'

    def _cell(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # A style attribute is against the content security policy.
        if style := tokens[idx].attrs.pop("style", ""):
            tokens[idx].attrs["align"] = str(style).removeprefix("text-align:")
        return self.renderToken(tokens, idx, options, env)


def signs(state: StateCore) -> None:
    """Items of a list that begin with a box to be ticked get its sign; what hides in the words of a link is shown."""
    for at, token in enumerate(state.tokens):
        if token.type != "inline" or not token.children:
            continue
        if at > 1 and state.tokens[at - 2].type == "list_item_open" and (box := _BOX.match(token.content)):
            _tick(token.children, done=box[1] != " ")
        links = 0
        for child in token.children:
            links += (child.type == "link_open") - (child.type == "link_close")
            if links and child.type in ("text", "code_inline"):
                child.content = visible(child.content)


def _tick(children: list[Token], *, done: bool) -> None:
    """The sign in place of the brackets, which the first text holds."""
    children[0].content = children[0].content[3:]
    children.insert(0, Token("task", "span", 0, meta={"done": done}))


parser = MarkdownIt("js-default", {"maxNesting": NESTING}, renderer_cls=Renderer)
# A path of this site is no model's to name; and what reads like one is a footnote, or a file.
parser.validateLink = lambda url: url.lower().startswith(SCHEMES)  # type: ignore[method-assign]
parser.use(formulas.formulas)
parser.use(tables)
parser.core.ruler.push("signs", signs)


class _NotFinal(Exception):
    """HTML that may have colours at another time."""


def html_of(text: str, *, plain_code: bool = False) -> SafeString:
    """Sanitised HTML. Colours are most of what code costs: `plain_code` has none."""
    return _html_of(text, {"plain_code": plain_code})


def render(text: str) -> SafeString:
    """The same, once: a message that has ended does not change."""
    try:
        return _rendered(text)
    except _NotFinal as error:
        return mark_safe(error.args[0])


def _html_of(text: str, env: dict[str, Any]) -> SafeString:
    if len(text) > MAX_MARKDOWN:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')
    return mark_safe(clean(parser.render(_NUMBER.sub(r"\1\\\2", text), env)))


@lru_cache(maxsize=500)
def _rendered(text: str) -> SafeString:
    env: dict[str, Any] = {}
    html = _html_of(text, env)
    if not env.get("is_final", True):
        raise _NotFinal(html)
    return html


def blocks(text: str) -> list[Token]:
    """The outermost blocks: of each its first token, which knows its lines. What is in them is not read."""
    tokens: list[Token] = []
    parser.block.parse(text, parser, {}, tokens)
    return [token for token in tokens if token.level == 0 and token.map]


def in_a_line(text: str) -> str:
    """What it says, without the marks that would make it bold, code or a heading."""
    return " ".join(MARKS.sub("", text).split())


def code_box(code: str, language: str, *, plain: bool = False, written_to: str = "") -> str:
    """`written_to` is the id of the place that further code is put to. Raises NotColoured where it is not plain."""
    place = f' class="streaming" id="{escape(written_to)}"' if written_to else ""
    label = escape(f"Code, {language}" if language else "Code")
    inner = escape(code) if plain else coloured(code, language)
    return (
        f'<div class="code"><div class="code-head"><span>{escape(language or "text")}</span>'
        f'<button type="button">Copy</button></div>'
        f"<pre {SCROLLS.format(label)}><code{place}>{inner}</code></pre></div>"
    )
