"""Bounds how much a server of tools may send at once.

Messages are parsed on the site's event loop, which a parser blocks: 8 MB of text take 0.03 s, but 8 MB of empty lists
more than a second. So bytes, commas and brackets are counted before a message is parsed.
"""

from __future__ import annotations

LARGEST = 8_000_000
"""The most bytes of one message, and of one HTTP response."""
MAX_VALUES = 300_000
"""The most commas of a message, those in texts included: about as many as it has values."""
MAX_NESTED = 10_000
"""The most lists and objects of a message."""


class TooMuch(Exception):
    """A message exceeds a bound; the text follows the server's name in a sentence."""


class SizeBudget:
    """Counts how much one message may still hold."""

    def __init__(self) -> None:
        self._bytes, self._values, self._nested = LARGEST, MAX_VALUES, MAX_NESTED

    def take(self, part: bytes) -> None:
        """Count a part of the message. Raises TooMuch."""
        self._bytes -= len(part)
        if self._bytes < 0:
            raise TooMuch(f"sent more than {LARGEST // 1_000_000} MB at once")
        self._values -= part.count(b",")
        self._nested -= part.count(b"[") + part.count(b"{")
        if self._values < 0 or self._nested < 0:
            raise TooMuch(f"sent more than {MAX_VALUES:,} values or {MAX_NESTED:,} lists and objects at once")
