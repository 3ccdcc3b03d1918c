"""How servers of one API want to be asked where they differ, and what was learned of that."""

from __future__ import annotations

from typing import Any, Protocol


class Dialect(Protocol):
    """One way to ask."""

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        """What a request carries beside model and messages; `most` is for thoughts and reply together."""
        ...

    def corrected(self, complaint: str) -> Dialect | None:
        """The dialect to try after a complaint about an option, None where it is about something else."""
        ...


_learned: dict[tuple[str, str], Dialect] = {}


def dialect_of(base_url: str, model: str, *, first: Dialect) -> Dialect:
    """The one that worked before, else `first`."""
    return _learned.get((base_url, model), first)


def learn(base_url: str, model: str, dialect: Dialect) -> None:
    """Remember, for this process, a dialect that worked."""
    _learned[base_url, model] = dialect
