"""Tables in Markdown, whose empty cells are bounded: two lines of a few characters could ask for thousands of them."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table

MAX_EMPTY = 2_000
"""Cells of a text that its rows are short of, and that would be filled in. What has more is shown as it is written."""


def tables(parser: MarkdownIt) -> None:
    """A plugin, in place of the stock rule."""
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.env.get("too_many_cells"):
        return False
    if not silent and table(state, start, end, True):
        empty = _empty(state, start + 1, end, state.env.get("empty_cells", 0))
        state.env["empty_cells"] = empty
        # Of a text that has too many, no further table is tried: each would be measured again.
        state.env["too_many_cells"] = empty > MAX_EMPTY
        if empty > MAX_EMPTY:
            return False
    return table(state, start, end, silent)


def _empty(state: StateBlock, rule: int, end: int, empty: int) -> int:
    """The cells that the rows under a rule are short of, and `empty` more."""
    columns = _line(state, rule).strip("|").count("|")
    for number in range(rule + 1, end):
        row = _line(state, number)
        if not row or empty > MAX_EMPTY:
            break
        empty += max(0, columns - row.strip("|").count("|"))
    return empty


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip()
