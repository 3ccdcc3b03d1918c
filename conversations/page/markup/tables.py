"""Markdown tables with a bounded number of empty cells, since two short lines could otherwise create thousands."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table

MAX_EMPTY_CELLS = 2_000
"""The most missing cells that are filled in for one text. Tables beyond them are shown as their source."""


def tables(parser: MarkdownIt) -> None:
    """Install the plugin, which replaces the stock table rule."""
    parser.block.ruler.at("table", _table_rule, {"alt": ["paragraph", "reference"]})


def _table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.env.get("too_many_cells"):
        return False
    if not silent and table(state, start, end, True):
        empty = _count_empty_cells(state, start + 1, end, state.env.get("empty_cells", 0))
        state.env["empty_cells"] = empty
        # After too many empty cells no further table is tried, since each would be counted again.
        state.env["too_many_cells"] = empty > MAX_EMPTY_CELLS
        if empty > MAX_EMPTY_CELLS:
            return False
    return table(state, start, end, silent)


def _count_empty_cells(state: StateBlock, rule: int, end: int, empty: int) -> int:
    """`empty` plus the number of cells missing in the rows below line `rule`."""
    columns = _line_text(state, rule).strip("|").count("|")
    for number in range(rule + 1, end):
        row = _line_text(state, number)
        if not row or empty > MAX_EMPTY_CELLS:
            break
        empty += max(0, columns - row.strip("|").count("|"))
    return empty


def _line_text(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip()
