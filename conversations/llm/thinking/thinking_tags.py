"""Separates thoughts in tags at the very head of a reply from its text, while it streams.

Self-hosted models write their thoughts this way if the server does not separate them: `<think>…</think>`, or other
tags. Tags anywhere else, and a tag that is never closed, are plain text. Some models write only the closing tag:
`split_closed` splits the finished reply.
"""

from __future__ import annotations

import re
from enum import Enum

TAGS = {f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "mm:think")} | {
    "[THINK]": "[/THINK]"
}
"""The closing tag of each opening one."""
MAX_BLANKS = 1_000
"""Blanks before a tag; after more of them a reply is text."""
_CLOSED = re.compile("|".join(re.escape(close) for close in TAGS.values()))


def split_closed(text: str) -> tuple[str, str]:
    """(thoughts, text) of a whole reply whose thoughts only end with a tag; ("", text) for all others.

    A tag in code, in backticks or after an opening one is text.
    """
    found = _CLOSED.search(text)
    if found is None:
        return "", text
    before = text[: found.start()]
    is_code = before.count("`") % 2 == 1 or text[found.end() : found.end() + 1] == "`"
    if is_code or any(tag in before for tag in TAGS):
        return "", text
    return before, text[found.end() :].lstrip()


class _Place(Enum):
    HEAD = "head"
    THOUGHTS = "thoughts"
    GAP = "gap"
    TEXT = "text"


class ThinkingTags:
    """Takes a reply's pieces apart. `is_open`: thoughts have begun and not ended."""

    def __init__(self) -> None:
        self._place = _Place.HEAD
        self._held = ""
        self._raw: list[str] = []
        self._close = ""

    @property
    def is_open(self) -> bool:
        return self._place is _Place.THOUGHTS

    def take(self, piece: str) -> tuple[str, str]:
        """(thoughts, text) of a piece. A possible beginning of a tag is held back until the next piece."""
        if self._place is _Place.TEXT or not piece:
            return "", piece
        if self._place is _Place.HEAD:
            return self._head(piece)
        if self._place is _Place.GAP:
            return "", self._after(piece)
        self._raw.append(piece)
        return self._thoughts(piece)

    def rest(self) -> str:
        """The remaining text at the end of the reply: the held-back part, or thoughts without a closing tag."""
        left = "".join(self._raw) if self.is_open else self._held if self._place is _Place.HEAD else ""
        self._place, self._held, self._raw = _Place.TEXT, "", []
        return left

    def _head(self, piece: str) -> tuple[str, str]:
        self._held += piece
        begun = self._held.lstrip()
        tag = next((tag for tag in TAGS if begun.startswith(tag)), "")
        if not tag and len(self._held) <= MAX_BLANKS and any(one.startswith(begun) for one in TAGS):
            return "", ""
        held, self._held = self._held, ""
        if not tag:
            self._place = _Place.TEXT
            return "", held
        self._place, self._close = _Place.THOUGHTS, TAGS[tag]
        self._raw.append(held)
        return self._thoughts(begun.removeprefix(tag))

    def _thoughts(self, piece: str) -> tuple[str, str]:
        known = self._held + piece
        thought, closed, text = known.partition(self._close)
        if not closed:
            longest = min(len(known), len(self._close) - 1)
            size = next((size for size in range(longest, 0, -1) if self._close.startswith(known[-size:])), 0)
            self._held = known[len(known) - size :]
            return known[: len(known) - size], ""
        self._place, self._held, self._raw = _Place.GAP, "", []
        return thought, self._after(text)

    def _after(self, piece: str) -> str:
        """The text after the closing tag, without the blanks between them."""
        text = piece.lstrip()
        if text:
            self._place = _Place.TEXT
        return text
