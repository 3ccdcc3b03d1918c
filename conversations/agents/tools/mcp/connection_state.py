"""What became of a connection, known to both who keeps it open and who uses it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Fate:
    """`words` follow the server's name: "ended with status 1"; "" while it can be used."""

    words: str = ""
    is_forgotten: bool = False
    """The server does not know the session any more: nothing was carried out."""
    status: int = 0
    """The last HTTP status that told of a fault."""

    def end(self, words: str) -> None:
        """The first reason counts."""
        self.words = self.words or words
