"""A Markdown plugin for what models write besides Markdown: some tags of HTML, footnote marks, and marked quotations.

A tag counts only with its counterpart in the same paragraph, and without attributes. Any other tag is text.
"""

from __future__ import annotations

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

PAIRED = ("sub", "sup", "kbd", "mark", "u", "b", "i", "s", "small", "ins", "del", "strong", "em")
_TAG = re.compile(rf"<(?:(/?)({'|'.join(PAIRED)})|br ?/?)>", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^([0-9]{1,3})\]")
_KIND = re.compile(r"\[!(note|tip|important|warning|caution)\][ \t]*", re.IGNORECASE)
KINDS: dict[str, str | Promise] = {
    "note": _("Note"),
    "tip": _("Tip"),
    "important": _("Important"),
    "warning": _("Warning"),
    "caution": _("Caution"),
}
"""The words before a quotation that GitHub's Markdown marks, as in `> [!NOTE]`."""


def tags(parser: MarkdownIt) -> None:
    """Install the plugin."""
    parser.inline.ruler.before("autolink", "tag", _tag_rule)
    parser.inline.ruler.before("link", "footnote", _footnote_rule)
    parser.core.ruler.push("tags", _pair_rule)
    parser.core.ruler.push("quotations", _quotation_rule)


def _tag_rule(state: StateInline, silent: bool) -> bool:
    found = _TAG.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        if found[2]:
            token = state.push("tag", found[2].lower(), 0)
            token.content, token.markup = found[0], found[1]
        else:
            state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _footnote_rule(state: StateInline, silent: bool) -> bool:
    found = _FOOTNOTE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("sup_open", "sup", 1)
        state.push("text", "", 0).content = found[1]
        state.push("sup_close", "sup", -1)
    state.pos = found.end()
    return True


def _pair_rule(state: StateCore) -> None:
    """Make tags of those that have a counterpart, and text of the others."""
    for token in state.tokens:
        if token.type != "inline" or not token.children:
            continue
        open_ones: dict[str, list[Token]] = {}
        for child in token.children:
            if child.type != "tag":
                continue
            if not child.markup:
                open_ones.setdefault(child.tag, []).append(child)
            elif waiting := open_ones.get(child.tag):
                opening = waiting.pop()
                opening.type, opening.nesting = f"{child.tag}_open", 1
                child.type, child.nesting = f"{child.tag}_close", -1
        for child in token.children:
            if child.type == "tag":
                child.type = "text"


def _quotation_rule(state: StateCore) -> None:
    """Put the word of its kind before a marked quotation."""
    for at, token in enumerate(state.tokens[2:], start=2):
        first = token.children[0] if token.type == "inline" and token.children else None
        if first is None or state.tokens[at - 2].type != "blockquote_open":
            continue
        if found := _KIND.match(first.content):
            first.content = first.content[found.end() :]
            kind = Token("text", "", 0, content=str(KINDS[found[1].lower()]))
            strong = [Token("strong_open", "strong", 1), kind, Token("strong_close", "strong", -1)]
            follows = [] if not first.content else [Token("hardbreak", "br", 0)]
            if not follows and len(token.children or ()) > 1:
                token.children[1].type = "hardbreak"  # type: ignore[index]
            token.children = [*strong, *follows, *(token.children or ())]
