"""Text of a provider as it can be stored: providers split characters between pieces, and send what no text may hold."""

from __future__ import annotations


class Storable:
    """Puts the halves of a character together across pieces, replaces what stays half, and leaves NUL out."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        text, self._half = self._half + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not text.isascii():
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace("\0", "")
