"""A Markdown plugin that renders LaTeX formulas as MathML: `$…$`, `\\(…\\)` inline, `$$…$$`, `\\[…\\]` as blocks.

A formula that cannot be converted, or that exceeds a limit, is shown as its source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape, unescape
from typing import Any
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from conversations.page.markup.latex import rewritten

MAX_FORMULA = 1_000
"""The most characters of one formula."""
MAX_ALL_FORMULAS = 8_000
"""The most characters of all formulas of one text, about half a second of work."""
MAX_UNBOXED_CHARS = 60
"""The most characters of an inline formula without a scrolling box."""
TAGS = {
    *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded"),
    *("mphantom", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts"),
    *("mprescripts", "none", "mtable", "mtr", "mtd"),
}
ATTRIBUTES = {
    "math": {"display", "data-tex"},
    "mi": {"mathvariant"},
    "mo": {"stretchy", "fence", "separator", "form", "accent", "largeop", "movablelimits", "symmetric"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "menclose": {"notation"},
    **{tag: {"accent", "accentunder"} for tag in ("munder", "mover", "munderover")},
    "mtable": {"columnalign", "columnlines", "rowlines", "columnspacing", "rowspacing", "displaystyle"},
    "mtd": {"columnalign"},
}
_LENGTHS = re.compile(r"(?:-?\d?(?:\.\d+)?(?:em|ex|pt) ?)+\Z")
_WITHIN = re.compile(r"\$((?![\s$])(?:[^$\\]|\\.)*?(?<!\s))\$(?![\w$])", re.DOTALL)
_MONEY = re.compile(r"\d[\d.,]*[kKmMbB]?\s+[^\W\d_]{2}")
"""An amount and a word, as in a sentence with two prices, which is no formula."""
LANGUAGES = ("math", "katex")
"""Languages of fenced blocks that are formulas."""
_ENVIRONMENT = re.compile(
    r"\\begin\{((?:equation|align|aligned|alignat|gather|gathered|multline|cases|split|[bpvBV]?matrix)\*?)\}"
)
_CLOSINGS = {"$$": "$$", r"\(": r"\)", r"\[": r"\]"}


def formulas(parser: MarkdownIt) -> None:
    """Install the plugin: rules that parse formulas, and the rule that renders them."""
    parser.inline.ruler.before("escape", "formula", _inline_rule)
    parser.block.ruler.before("fence", "formula_block", _block_rule, {"alt": ["paragraph", "blockquote", "list"]})
    parser.add_render_rule("formula", _rendered)


def block_of(latex: str) -> str:
    """A block with the formula; "" if it cannot be converted."""
    mathml = as_mathml(latex.strip(), True)
    shown = mathml.replace("<math", f'<math data-tex="{escape(f"$${latex.strip()}$$")}"', 1)
    return f"<div {_scrolling_attributes('formula display')}>{shown}</div>\n" if mathml else ""


def is_length(tag: str, name: str, value: str) -> bool:
    """Whether a MathML attribute's value is harmless: a length of a few characters' size, or no length at all."""
    return name not in ("width", "columnspacing", "rowspacing", "linethickness") or bool(_LENGTHS.match(value))


def _inline_rule(state: StateInline, silent: bool) -> bool:
    formula = _formula_at(state.src, state.pos)
    if formula is None:
        return False
    words, end, display = formula
    if not silent:
        _push(state, words, state.src[state.pos : end], display)
    state.pos = end
    return True


def _formula_at(text: str, at: int) -> tuple[str, int, bool] | None:
    """The formula that begins at `at`, the index of its end, and whether it is displayed as a block."""
    opening = text[at : at + 2]
    if opening in _CLOSINGS:
        end = text.find(_CLOSINGS[opening], at + 2, at + MAX_FORMULA)
        words = text[at + 2 : end].strip()
        return (words, end + 2, opening != r"\(") if end > 0 and words else None
    if not opening.startswith("$") or text[at - 1 : at].isalnum():
        return None
    match = _WITHIN.match(text, at)
    return (match[1], match.end(), False) if match and not _MONEY.match(match[1]) else None


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The block rule: a formula that begins a line and ends at the end of the same or a later line."""
    begin = state.bMarks[start] + state.tShift[start]
    opening = state.src[begin : begin + 2]
    environment = _ENVIRONMENT.match(state.src, begin) if opening == r"\b" else None
    if (opening not in ("$$", r"\[") and not environment) or state.is_code_block(start):
        return False
    ending = f"\\end{{{environment[1]}}}" if environment else _CLOSINGS[opening]
    closing = state.src.find(ending, begin + 2, begin + MAX_FORMULA)
    last = next((line for line in range(start, end) if state.eMarks[line] > closing), None)
    if closing < 0 or last is None or state.src[closing + len(ending) : state.eMarks[last]].strip():
        return False
    written = state.getLines(start, last + 1, state.blkIndent, False).strip()
    words = written if environment else written[2:-2].strip()
    if words and not silent:
        _push(state, words, written, display=True)
        state.line = last + 1
    return bool(words)


def _push(state: StateInline | StateBlock, words: str, written: str, display: bool) -> None:
    length = state.env["formulas"] = state.env.get("formulas", 0) + len(words) + 20
    token = state.push("formula", "", 0)
    token.content, token.markup, token.block = words, written, isinstance(state, StateBlock)
    token.meta = {"display": display, "too_much": length > MAX_ALL_FORMULAS}


def _rendered(self: Any, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
    token = tokens[idx]
    display = token.meta["display"]
    mathml = "" if token.meta["too_much"] else as_mathml(token.content, display)
    html = (
        mathml.replace("<math", f'<math data-tex="{escape(token.markup)}"', 1) or f"<code>{escape(token.markup)}</code>"
    )
    if token.block:
        html = f"<div {_scrolling_attributes('formula display')}>{html}</div>\n"
    elif display:
        html = f"<span {_scrolling_attributes('formula display')}>{html}</span>"
    elif mathml and len(token.content) > MAX_UNBOXED_CHARS:
        html = f"<span {_scrolling_attributes('formula')}>{html}</span>"
    return html


def _scrolling_attributes(kinds: str) -> str:
    return f'class="{kinds}" tabindex="0" role="group" aria-label="Formula"'


@lru_cache(maxsize=2_000)
def as_mathml(latex: str, display: bool) -> str:
    """A `math` element, not sanitised; "" if `latex` cannot be converted."""
    if len(latex) > MAX_FORMULA:
        return ""
    try:
        root = convert_to_element(rewritten(latex), display="block" if display else "inline")
        return "" if any(map(_is_unknown, root.iter())) else _serialised(root)
    except Exception:  # a formula whose conversion fails in any way is shown as its source
        return ""


def _serialised(root: Element) -> str:
    """Serialise the converter's tree. Its texts mix character references and raw text; both become plain text."""
    for element in root.iter():
        element.text = unescape(element.text) if element.text else None
    root.attrib.pop("xmlns", None)
    return tostring(root, encoding="unicode", short_empty_elements=False)


def _is_unknown(element: Element) -> bool:
    """Whether the element is a LaTeX command unknown to the converter, which keeps its leading backslash."""
    return bool(element.text) and element.tag == "mi" and str(element.text).startswith("\\")
