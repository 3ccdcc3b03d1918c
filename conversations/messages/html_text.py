"""Converts HTML of mails, books and other sites' exports to Markdown."""

from __future__ import annotations

import re
from typing import Any

BLOCKS = ("p", "div", "section", "article", "table", "ul", "ol", "blockquote")
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
CELLS = ("td", "th")
HIDDEN = ("script", "style", "template", "noscript", "head")
MAX_DEPTH = 100
LAYOUT = "chatsite-layout"
"""The mark of a table that only places its content."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)++")


def as_markdown(html: str | bytes) -> str:
    """The text of HTML with headings, lists, code, tables and links as Markdown; nothing in it is run or fetched."""
    from bs4 import BeautifulSoup  # a tenth of a second, which other formats need not wait for

    text = _of(BeautifulSoup(html, "lxml"), depth=0)
    return _BLANK_LINES.sub("\n\n", text).strip()


def _of(node: Any, *, depth: int) -> str:
    """The Markdown of a node's children; below MAX_DEPTH only their text."""
    if depth > MAX_DEPTH:
        return str(node.get_text(" "))
    return "".join(_part(child, depth=depth + 1) for child in node.children)


def _part(node: Any, *, depth: int) -> str:
    name = node.name
    if name is None:
        return re.sub(r"\s++", " ", str(node)) if type(node).__name__ == "NavigableString" else ""
    if name in HIDDEN:
        return ""
    if name == "br":
        return "\n"
    if name == "pre":
        return f"\n\n```{_language(node)}\n{node.get_text().strip(chr(10))}\n```\n\n"
    if name == "table":
        node.attrs[LAYOUT] = _is_layout(node)
    inner = _of(node, depth=depth)
    if name in MARKS:
        return f"{MARKS[name]}{inner.strip()}{MARKS[name]}" if inner.strip() else inner
    if name == "a" and str(node.get("href") or "").startswith(("http://", "https://")) and inner.strip():
        return f"[{inner.strip()}]({node['href']})"
    if name == "li":
        mark = "1. " if node.parent is not None and node.parent.name == "ol" else "- "
        return f"{mark}{inner.strip().replace(chr(10), chr(10) + '  ')}\n"
    if name in (*CELLS, "tr") and _is_in_layout(node):
        return f"\n\n{inner.strip()}\n\n"
    if name in CELLS:
        return f" {' '.join(inner.split()).replace('|', chr(92) + '|')} |"
    if name == "tr":
        return _row(node, inner.strip())
    if name.startswith("h") and name[1:].isdigit():
        return f"\n\n{'#' * min(6, int(name[1:]))} {inner.strip()}\n\n"
    return f"\n\n{inner.strip()}\n\n" if name in BLOCKS else inner


def _is_layout(table: Any) -> bool:
    """Whether a table only places what a mail consists of: it has another table in it, or a single column."""
    if table.find("table") is not None:
        return True
    return all(len(row.find_all(CELLS, recursive=False)) < 2 for row in table.find_all("tr"))


def _is_in_layout(node: Any) -> bool:
    table = node.find_parent("table")
    return table is not None and bool(table.attrs.get(LAYOUT))


def _row(node: Any, cells: str) -> str:
    """A row of a table; the first one is its head."""
    table, row = node.find_parent("table"), f"| {cells}\n"
    if table is None or table.find("tr") is not node:
        return row
    return f"{row}|{' --- |' * len(node.find_all(CELLS, recursive=False))}\n"


def _language(pre: Any) -> str:
    """The language of a block of code; "" if its class does not name one."""
    code = pre.find("code")
    names = code.get("class") or () if code is not None else ()
    return next((name.removeprefix("language-") for name in names if name.startswith("language-")), "")
