"""Dialects: the options that servers of the same API expect, and which dialect worked for a server."""

from __future__ import annotations

from typing import Any, Protocol


class Dialect(Protocol):
    """One set of options for a request."""

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        """The request's options beside model and messages; `most` limits thoughts and reply together, in tokens."""
        ...

    def corrected(self, complaint: str) -> Dialect | None:
        """The dialect to try after an error about an option; None if the error has another reason."""
        ...


_learned: dict[tuple[str, str], Dialect] = {}


def dialect_of(base_url: str, model: str, *, first: Dialect) -> Dialect:
    """The dialect that last worked for a server's model, else `first`."""
    return _learned.get((base_url, model), first)


def learn_dialect(base_url: str, model: str, dialect: Dialect) -> None:
    """Remember the dialect that worked, for this process."""
    _learned[base_url, model] = dialect
