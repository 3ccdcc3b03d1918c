"""A Markdown plugin for parts that models fold away by HTML's `<details>`; each of its tags has a line of its own.

The summary may stand on the first line, or on the one after it. The content is Markdown. A part whose end is missing
goes to the end of the text, and is open.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

TAGS = ("details", "summary")
_BEGIN = re.compile(r"<details( open)?>\s*(?:<summary>(.*)</summary>)?\s*\Z", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>(.*)</summary>\s*\Z", re.IGNORECASE)
_END = "</details>"
MAX_LEVEL = 10
"""The depth of blocks from which on the tags are text: the parser leaves out the content of very deep blocks."""


def details(parser: MarkdownIt) -> None:
    """Install the plugin."""
    parser.block.ruler.before("table", "details", _rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    begun = None if state.level >= MAX_LEVEL or state.is_code_block(start) else _BEGIN.match(_line(state, start))
    if begun is None or silent:
        return begun is not None
    if "details" not in state.env:
        state.env["details"] = _ends(state.src)
    last: int = state.env["details"].get(start, end)
    is_closed = last < end
    first, last = start + 1, min(last, end)
    summary = begun[2]
    if summary is None and first < last and (own_line := _SUMMARY.match(_line(state, first))):
        summary, first = own_line[1], first + 1
    opening = state.push("details_open", "details", 1)
    opening.block, opening.map, opening.meta = True, [start, last + is_closed], {"is_closed": is_closed}
    if begun[1] or not is_closed:
        opening.attrSet("open", "")
    if summary is not None:
        state.push("summary_open", "summary", 1).block = True
        inline = state.push("inline", "", 0)
        inline.content, inline.map, inline.children = summary.strip(), [start, start + 1], []
        state.push("summary_close", "summary", -1).block = True
    kept, state.lineMax = state.lineMax, last
    state.md.block.tokenize(state, first, last)
    state.lineMax = kept
    state.push("details_close", "details", -1).block = True
    state.line = last + is_closed
    return True


def _ends(text: str) -> dict[int, int]:
    """The line with the end of each part, by the line with its beginning."""
    ends: dict[int, int] = {}
    waiting: list[int] = []
    for number, line in enumerate(text.split("\n")):
        words = line.lstrip("> \t").rstrip()
        if _BEGIN.match(words):
            waiting.append(number)
        elif waiting and words.lower() == _END:
            ends[waiting.pop()] = number
    return ends


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
