"""Separates `<think>…</think>` at the very head of a reply from its text, while it streams.

Models on servers of one's own write their thoughts so where the server does not take them apart. Tags anywhere else,
and a tag that is never closed, are text like any other.
"""

from __future__ import annotations

from enum import Enum

OPEN, CLOSE = "<think>", "</think>"


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

    @property
    def is_open(self) -> bool:
        return self._place is _Place.THOUGHTS

    def take(self, piece: str) -> tuple[str, str]:
        """(thoughts, text) of a piece. What may be the beginning of a tag is held back until the next piece."""
        if self._place is _Place.TEXT or not piece:
            return "", piece
        if self._place is _Place.HEAD:
            return self._head(piece)
        if self._place is _Place.GAP:
            return "", self._after(piece)
        self._raw.append(piece)
        return self._thoughts(piece)

    def rest(self) -> str:
        """The text that is left when the reply has ended: what was held back, or thoughts whose tag is not closed."""
        left = "".join(self._raw) if self.is_open else self._held if self._place is _Place.HEAD else ""
        self._place, self._held, self._raw = _Place.TEXT, "", []
        return left

    def _head(self, piece: str) -> tuple[str, str]:
        self._held += piece
        begun = self._held.lstrip()
        if OPEN.startswith(begun):
            return "", ""
        held, self._held = self._held, ""
        if not begun.startswith(OPEN):
            self._place = _Place.TEXT
            return "", held
        self._place = _Place.THOUGHTS
        self._raw.append(held)
        return self._thoughts(begun.removeprefix(OPEN))

    def _thoughts(self, piece: str) -> tuple[str, str]:
        known = self._held + piece
        thought, closed, text = known.partition(CLOSE)
        if not closed:
            longest = min(len(known), len(CLOSE) - 1)
            size = next((size for size in range(longest, 0, -1) if CLOSE.startswith(known[-size:])), 0)
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
