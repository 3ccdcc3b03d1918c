"""Repairs a provider's text: joins characters split between pieces, and removes what a database cannot store."""

from __future__ import annotations


class WholeCharacters:
    """Repairs the pieces of one text: joins surrogate halves across pieces, and replaces lone ones by U+FFFD."""

    def __init__(self) -> None:
        self._half = ""

    @property
    def is_waiting(self) -> bool:
        """Whether half of a character waits for the next piece."""
        return bool(self._half)

    def take(self, piece: str) -> str:
        """The next piece, repaired; half of a character at its end is kept for the next call."""
        text, self._half = self._half + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text if text.isascii() else without_halves(text)


class Storable(WholeCharacters):
    """Repairs the pieces of one text that is stored: removes NUL too."""

    def take(self, piece: str) -> str:
        return super().take(piece).replace("\0", "")


def without_halves(text: str) -> str:
    """The text with its surrogate pairs joined, and a lone half of one replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
