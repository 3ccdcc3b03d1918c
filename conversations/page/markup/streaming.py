"""A reply while it is written: blocks of Markdown that are whole stand as they will stay, its end as it comes.

A block is rendered when it is over. Before, code goes into its box piece by piece; a list, a table or a quotation is
rendered as far as its lines have ended; all else is plain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markdown_it.token import Token

from conversations.page.markup import formulas, markdown

MAX_TAIL, MAX_LINES = 8_000, 200
"""Characters and lines of a block that is not whole yet, beyond which it is read no more: each line costs all of it."""
MAX_DRAWN = 3_000
"""Characters of one that is drawn again with each of its lines. Beyond, lines are plain until it is whole."""
BY_LINES = ("bullet_list_open", "ordered_list_open", "table_open", "blockquote_open")
"""Blocks whose first lines mean what they mean whatever follows on them."""
ONE_LINE = ("heading_open", "hr", "formula")
TO_EMPTY_LINE = ("paragraph_open", "table_open", "blockquote_open")
_MARKS = re.compile(r"\s*(`+|~+)")
_FORMULA = re.compile(r" {0,3}(?:\$\$|\\\[)")


@dataclass(slots=True)
class Growing:
    """The reply `id` as far as it was `read`, in characters; `tail` is what follows on its whole blocks."""

    id: str
    read: int = 0
    tail: str = ""
    kind: str = ""
    """Of the block that the tail is: the type of its token where it is shown as such, else ""."""

    @property
    def place(self) -> str:
        """The id of the element that holds the tail: a page that shows another state of the reply has none of it."""
        return f"tail-{self.id}-{self.read - len(self.tail)}"

    def add(self, text: str) -> str | None:
        """Read on: the blocks that are whole by now, as HTML, where the tail is to be drawn anew; else None."""
        known = len(self.tail)
        self.tail += text
        self.read += len(text)
        if "\n" not in text or self.read > markdown.MAX_MARKDOWN or not self._is_news(known):
            return None
        at, kind = split(self.tail)
        if not at and ((kind in BY_LINES and known > MAX_DRAWN) or not (kind or self.kind)):
            # What is blank before a block is not shown.
            return "" if text.startswith("\n") and not self.tail[:known].strip("\n") else None
        whole, self.tail, self.kind = self.tail[:at], self.tail[at:], kind
        return markdown.html_of(whole) if whole.strip() else ""

    @property
    def framed(self) -> str:
        """The tail as HTML, in the element that holds it."""
        return f'<div class="tail" id="{escape(self.place)}">{self.drawn}</div>'

    @property
    def drawn(self) -> str:
        """The tail as HTML, with the place where further words are put. Code has its colours when it is whole."""
        tail = self.tail.lstrip("\n")
        if self.kind == "fence":
            info, _, code = tail.partition("\n")
            language, *_ = [*info.strip(" `~").split(), ""]
            return markdown.code_box(code, language, plain=True, written_to=f"text-{self.id}")
        at = tail.rfind("\n") + 1 if self.kind else 0
        lines = markdown.html_of(tail[:at], plain_code=True) if at else ""
        return f'{lines}<div class="streaming" id="text-{escape(self.id)}">{escape(tail[at:])}</div>'

    def _is_news(self, known: int) -> bool:
        """Whether the lines that have ended since `known` characters may change how what is shown is read."""
        mark = _MARKS.match(self.tail) if self.kind == "fence" else None
        if mark is None and known > MAX_TAIL:
            return False
        ended = self.tail.count("\n", 0, known)
        if mark is None:
            return ended <= MAX_LINES
        return any(line.lstrip().startswith(mark[1]) for line in self.tail.split("\n")[max(ended, 1) : -1])


def so_far(id: str, text: str) -> tuple[Growing, str]:
    """A reply that was read to here at once, and all of it as HTML."""
    growing = Growing(id)
    done = growing.add(text) or ""
    return growing, done + growing.framed


def split(text: str) -> tuple[int, str]:
    """Where the block begins that may go on, judged by the lines that have ended, and what it is shown as."""
    lines = text.split("\n")[:-1]
    blocks = markdown.blocks("\n".join([*lines, ""]))
    if not blocks:
        return 0, ""
    formula = next((block for block in blocks if _may_be_formula(block, lines)), None)
    last = formula or blocks[-1]
    begin, end = last.map or [0, 0]
    over = formula is None and _is_over(last, lines[begin:end], end < len(lines))
    kind = last.type if last.type in (*BY_LINES, "fence") and not over else ""
    return sum(len(line) + 1 for line in lines[: end if over else begin]), kind


def _is_over(block: Token, lines: Sequence[str], followed: bool) -> bool:
    """Whether nothing that is written from now on belongs to a block; `followed` by an empty line, that is."""
    if block.type == "fence":
        last = lines[-1].strip()
        return len(lines) > 1 and last.startswith(block.markup) and not last.strip(block.markup[0])
    return block.type in ONE_LINE or (block.type in TO_EMPTY_LINE and followed)


def _may_be_formula(block: Token, lines: Sequence[str]) -> bool:
    """Whether a paragraph has a line that begins a formula, which what follows may end, whatever that looks like."""
    begin, end = block.map or [0, 0]
    if block.type != "paragraph_open":
        return False
    opened = next((at for at in range(begin, end) if _FORMULA.match(lines[at])), None)
    return opened is not None and sum(len(line) + 1 for line in lines[opened:]) < formulas.MAX_FORMULA
