"""A Markdown plugin for emphasis in Chinese, Japanese and Korean, whose sentences have no blanks around it.

CommonMark reads the marks in `看**“引号”**后面` as asterisks, as they stand between a letter and a quotation mark. Here
they are emphasis beside a CJK character, as in the amendment that other parsers of Markdown follow
(https://github.com/tats-u/markdown-cjk-friendly).
"""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token

from compression.core.lazy_pattern import lazy_pattern

_CJK = lazy_pattern(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u318f\u31a0-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


def cjk_emphasis(parser: MarkdownIt) -> None:
    """Install the plugin."""

    def parse(src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        parser.inline.tokenize(state)
        for rule in parser.inline.ruler2.getRules(""):
            rule(state)
        return state.tokens

    parser.inline.parse = parse  # type: ignore[method-assign]


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        is_cjk_before, is_cjk_after = bool(_CJK.match(before)), bool(_CJK.match(after))
        if not canSplitWord or not (is_cjk_before or is_cjk_after):
            return scanned
        can_open = not _is_blank(after) and (
            not _is_sign(after) or is_cjk_after or _is_blank(before) or _is_sign(before) or is_cjk_before
        )
        can_close = not _is_blank(before) and (
            not _is_sign(before) or is_cjk_before or _is_blank(after) or _is_sign(after) or is_cjk_after
        )
        return Scanned(can_open, can_close, scanned.length)


def _is_sign(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)


def _is_blank(char: str) -> bool:
    return isWhiteSpace(ord(char))
