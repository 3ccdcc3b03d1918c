"""Renders a model's Markdown as safe HTML: a few tags without attributes, no remote images, no scripts in links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from compression.core.caching import cached_texts
from conversations.exchange.formats.chatgpt_references import OPENING, without_marks
from conversations.messages.text_files import without_escapes
from conversations.page.markup import details, formulas
from conversations.page.markup.addresses import addresses
from conversations.page.markup.cjk import cjk_emphasis
from conversations.page.markup.highlighting import NotColoured, coloured
from conversations.page.markup.tables import tables
from conversations.page.markup.tags import PAIRED, tags
from conversations.validation import visible

MAX_MARKDOWN = 40_000
"""The most characters that are rendered, in under a second for any text. A longer text is shown as plain text."""
NESTING = 20
SCHEMES = ("http://", "https://", "mailto:")
SCROLLS = 'tabindex="0" role="group" aria-label="{}"'
"""Attributes of a box with its own scroll bar, which make it reachable by keyboard."""
_NUMBER = re.compile(r"\A(\s*\d+)([.)]\s*)\Z")
"""A text that is only a number with a full stop, which Markdown would turn into an empty list."""
_BOX = re.compile(r"\[([ xX])\]\s")

clean = partial(
    nh3.clean,
    tags={
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "strong", "em", "s"),
        *("a", "code", "pre", "span", "div", "button", "table", "thead", "tbody", "tr", "th", "td"),
        *PAIRED,
        *details.TAGS,
        *formulas.TAGS,
    },
    attributes={
        "a": {"href", "title", "target"},
        "ol": {"start"},
        "details": {"open"},
        "th": {"align"},
        "td": {"align"},
        "button": {"type", "data-code", "aria-pressed"},
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
        language, plain = words[0].strip("{}.") if words else "", env.get("plain_code", False)
        if language.lower() in formulas.LANGUAGES and (formula := formulas.block_of(tokens[idx].content)):
            return formula
        try:
            return code_box(tokens[idx].content, language, plain=plain)
        except NotColoured as refusal:
            # After the first block without colours, the rest of the text has none either.
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
        return f'<div class="table" {SCROLLS.format(escape(_("Table")))}><table>'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def task(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        done = tokens[idx].meta["done"]
        words = _("Done") if done else _("To do")
        return f'<span class="task" role="img" aria-label="{escape(words)}">{"☑" if done else "☐"}</span>'

    def _cell(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # The content security policy forbids style attributes.
        if style := tokens[idx].attrs.pop("style", ""):
            tokens[idx].attrs["align"] = str(style).removeprefix("text-align:")
        return self.renderToken(tokens, idx, options, env)


def signs(state: StateCore) -> None:
    """A core rule: task list items get a check box sign, and invisible characters in link texts are made visible."""
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
    """Replace the brackets at the start of the first text by the sign."""
    children[0].content = children[0].content[3:]
    children.insert(0, Token("task", "span", 0, meta={"done": done}))


parser = MarkdownIt("js-default", {"maxNesting": NESTING}, renderer_cls=Renderer)
# Models must not link to paths of this site; a text that reads like a path is a footnote or a file name.
parser.validateLink = lambda url: url.lower().startswith(SCHEMES)  # type: ignore[method-assign]
parser.use(formulas.formulas)
parser.use(tables)
parser.use(tags)
parser.use(details.details)
parser.use(addresses)
parser.use(cjk_emphasis)
parser.core.ruler.push("signs", signs)


class _NotFinal(Exception):
    """Carries HTML whose code may get colours at a later time, so that it is not cached."""


def html_of(text: str, *, plain_code: bool = False) -> SafeString:
    """The text as sanitised HTML, not cached. `plain_code` leaves out colours, the most expensive part."""
    return _html_of(text, {"plain_code": plain_code})


def render_markdown(text: str) -> SafeString:
    """The text as sanitised HTML, cached, since a finished message does not change."""
    try:
        return _rendered(text, get_language())
    except _NotFinal as error:
        return mark_safe(error.args[0])


def _html_of(text: str, env: dict[str, Any]) -> SafeString:
    if len(text) > MAX_MARKDOWN:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')
    text = without_marks(text, {}) if OPENING in text else text
    return mark_safe(clean(parser.render(_NUMBER.sub(r"\1\\\2", text), env)))


@cached_texts(chars=2_000_000)
def _rendered(text: str, language: str) -> SafeString:
    """The text as HTML; the buttons of its code are in the active `language`."""
    env: dict[str, Any] = {}
    html = _html_of(text, env)
    if not env.get("is_final", True):
        raise _NotFinal(html)
    return html


def blocks(text: str) -> list[Token]:
    """The first token of each outermost block, with its range of lines. Inline content is not parsed."""
    tokens: list[Token] = []
    parser.block.parse(text, parser, {}, tokens)
    return [token for token in tokens if token.level == 0 and token.map]


def code_box(code: str, language: str, *, plain: bool = False, written_to: str = "") -> str:
    """A box of code. `written_to` is the id of the element for further text. Raises NotColoured unless `plain`."""
    place = f' class="streaming" id="{escape(written_to)}"' if written_to else ""
    code = without_escapes(code)
    label = escape(f"{_('Code')}, {language}" if language else _("Code"))
    inner = escape(code) if plain else coloured(code, language)
    return (
        f'<div class="code"><div class="code-head"><span>{escape(language or "text")}</span>'
        f"{_code_acts(language)}</div>"
        f"<pre {SCROLLS.format(label)}><code{place}>{inner}</code></pre></div>"
    )


def _code_acts(language: str) -> str:
    """The buttons of a box of code; `static/code_boxes.js` and `static/copying.js` listen to them."""
    draw = (
        f'<button type="button" data-code="draw">{escape(_("Draw"))}</button>' if language.lower() == "mermaid" else ""
    )
    return (
        f'{draw}<button type="button" data-code="wrap" aria-pressed="false">{escape(_("Wrap"))}</button>'
        f'<button type="button" data-code="save">{escape(_("Download"))}</button>'
        f'<button type="button" data-code="copy">{escape(_("Copy"))}</button>'
    )
