"""Repairs a provider's text so that it can be stored: joins characters split between pieces, and removes NUL."""

from __future__ import annotations


class Storable:
    """Repairs the pieces of one text: joins surrogate halves across pieces, replaces lone ones, and removes NUL."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """The next piece, repaired; half of a character at its end is kept for the next call."""
        text, self._half = self._half + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not text.isascii():
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace("\0", "")
