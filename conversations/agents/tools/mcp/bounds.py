"""How much a server of tools may send at once.

What it sends is parsed on the loop that the site runs on, and a parser lets nothing else run: 8 MB of text takes
0.03 s, but 8 MB of empty lists more than a second. Bytes are counted, and what makes values, before anything is parsed.
"""

from __future__ import annotations

LARGEST = 8_000_000
"""Bytes of one message, and of one answer over HTTP."""
MAX_VALUES = 300_000
"""Commas in it, those in texts included: about as many as there are values."""
MAX_NESTED = 10_000
"""Lists and objects."""


class TooMuch(Exception):
    """In words that follow the server's name."""


class Allowance:
    """What one message may still hold."""

    def __init__(self) -> None:
        self._bytes, self._values, self._nested = LARGEST, MAX_VALUES, MAX_NESTED

    def take(self, part: bytes) -> None:
        """Raises TooMuch."""
        self._bytes -= len(part)
        if self._bytes < 0:
            raise TooMuch(f"sent more than {LARGEST // 1_000_000} MB at once")
        self._values -= part.count(b",")
        self._nested -= part.count(b"[") + part.count(b"{")
        if self._values < 0 or self._nested < 0:
            raise TooMuch(f"sent more than {MAX_VALUES:,} values or {MAX_NESTED:,} lists and objects at once")
