"""Shares a connection's state between its transport and its users."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ConnectionState:
    """A connection's state.

    `words` say how the connection ended, to follow the server's name: "ended with status 1"; "" while it can be used.
    """

    words: str = ""
    is_forgotten: bool = False
    """The server does not know the session any more, and has not carried out the call."""
    status: int = 0
    """The last HTTP error status; 0 for none."""

    def end(self, words: str) -> None:
        """Note why the connection ended; only the first reason is kept."""
        self.words = self.words or words
