"""Incremental Markdown for a streaming reply: complete blocks are rendered once, the unfinished tail as it grows.

A block is rendered when it is complete. Until then code is appended to its box piece by piece; a list, a table or a
quotation is rendered up to its last complete line; any other block is plain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markdown_it.token import Token

from conversations.page.markup import formulas, markdown

MAX_TAIL_CHARS, MAX_TAIL_LINES = 8_000, 200
"""The most characters and lines of an unfinished block that is parsed, since each line parses the block again."""
MAX_RENDERED_TAIL_CHARS = 3_000
"""The most characters of an unfinished block rendered again for each line. Further lines are plain until it ends."""
BY_LINES = ("bullet_list_open", "ordered_list_open", "table_open", "blockquote_open", "details_open")
"""Blocks whose first lines keep their meaning when more lines follow."""
ONE_LINE = ("heading_open", "hr", "formula")
TO_EMPTY_LINE = ("paragraph_open", "table_open", "blockquote_open")
_MARKS = re.compile(r"\s*(`+|~+)")
_FORMULA = re.compile(r" {0,3}(?:\$\$|\\\[|\\begin\{)")


@dataclass(slots=True)
class StreamedMarkdown:
    """The reply `id`, parsed up to character `read`; `tail` is the text after its complete blocks."""

    id: str
    read: int = 0
    tail: str = ""
    kind: str = ""
    """The token type of the tail's block if the tail is rendered as it is, else ""."""

    @property
    def place(self) -> str:
        """The id of the tail's element; a page that shows another state of the reply has no such element."""
        return f"tail-{self.id}-{self.read - len(self.tail)}"

    def add(self, text: str) -> str | None:
        """Append text. Returns the newly completed blocks as HTML if the tail must be rendered again, else None."""
        known = len(self.tail)
        self.tail += text
        self.read += len(text)
        if "\n" not in text or self.read > markdown.MAX_MARKDOWN or not self._may_change_markup(known):
            return None
        at, kind = split(self.tail)
        if not at and ((kind in BY_LINES and known > MAX_RENDERED_TAIL_CHARS) or not (kind or self.kind)):
            # Blank lines before a block are not shown.
            return "" if text.startswith("\n") and not self.tail[:known].strip("\n") else None
        whole, self.tail, self.kind = self.tail[:at], self.tail[at:], kind
        return markdown.html_of(whole) if whole.strip() else ""

    @property
    def framed(self) -> str:
        """The tail as HTML, in the element that holds it."""
        return f'<div class="tail" id="{escape(self.place)}">{self.drawn}</div>'

    @property
    def drawn(self) -> str:
        """The tail as HTML, with the element for further text. Code gets colours when it is complete."""
        tail = self.tail.lstrip("\n")
        if self.kind == "fence":
            info, _, code = tail.partition("\n")
            language, *_ = [*info.strip(" `~").split(), ""]
            return markdown.code_box(code, language, plain=True, written_to=f"text-{self.id}")
        at = tail.rfind("\n") + 1 if self.kind else 0
        lines = markdown.html_of(tail[:at], plain_code=True) if at else ""
        return f'{lines}<div class="streaming" id="text-{escape(self.id)}">{escape(tail[at:])}</div>'

    def _may_change_markup(self, known: int) -> bool:
        """Whether the lines completed after `known` characters may change the markup shown."""
        mark = _MARKS.match(self.tail) if self.kind == "fence" else None
        if mark is None and known > MAX_TAIL_CHARS:
            return False
        ended = self.tail.count("\n", 0, known)
        if mark is None:
            return ended <= MAX_TAIL_LINES
        return any(line.lstrip().startswith(mark[1]) for line in self.tail.split("\n")[max(ended, 1) : -1])


def so_far(id: str, text: str) -> tuple[StreamedMarkdown, str]:
    """The state of a reply with the text so far, and the reply as HTML."""
    reply = StreamedMarkdown(id)
    done = reply.add(text) or ""
    return reply, done + reply.framed


def split(text: str) -> tuple[int, str]:
    """(the index where the unfinished block begins, judged by complete lines; its token type if rendered as it is)"""
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
    """Whether no further text can belong to the block; `followed`: an empty line follows it."""
    if block.type == "fence":
        last = lines[-1].strip()
        return len(lines) > 1 and last.startswith(block.markup) and not last.strip(block.markup[0])
    if block.type == "details_open":
        return bool(block.meta["is_closed"])
    return block.type in ONE_LINE or (block.type in TO_EMPTY_LINE and followed)


def _may_be_formula(block: Token, lines: Sequence[str]) -> bool:
    """Whether a paragraph has a line that begins a formula, which later text may end."""
    begin, end = block.map or [0, 0]
    if block.type != "paragraph_open":
        return False
    opened = next((at for at in range(begin, end) if _FORMULA.match(lines[at])), None)
    return opened is not None and sum(len(line) + 1 for line in lines[opened:]) < formulas.MAX_FORMULA
