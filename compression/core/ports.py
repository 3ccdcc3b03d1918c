"""The engine's ports: the summariser it calls, and the callbacks that report its progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from compression.core.values import Passage, SummariserOutput, Turn

OnStage = Callable[[str, int], Awaitable[None]]
"""Called when a stage begins, with the stage's name and the percentage that is done."""


class PartWatch(Protocol):
    """Follows the requests of a summary, each with its number (from 0)."""

    async def planned(self, steps: Sequence[Sequence[float]], *, at_once: int, tokens: int) -> None:
        """All the requests are known, or known better than before, by how long they take: their weights.

        Those of one step are made `at_once` at a time, after those of the step before. The summary replaces `tokens`.
        """
        ...

    async def begun(self, number: int) -> None:
        """The request for a summary is sent."""
        ...

    async def ended(self, passage: Passage) -> None:
        """The summary of a passage is there, and accepted."""
        ...


class NoPartWatch:
    """The PartWatch of callers that need no progress of parts."""

    async def planned(self, steps: Sequence[Sequence[float]], *, at_once: int, tokens: int) -> None:
        pass

    async def begun(self, number: int) -> None:
        pass

    async def ended(self, passage: Passage) -> None:
        pass


Originals = Callable[[datetime | None, datetime, Sequence[str]], Awaitable[tuple[Turn, ...]]]
"""Reads the messages of a stretch of history again: those after a moment (None: the beginning) up to another, and some
from before by their ids."""


async def no_originals(*_: object) -> tuple[Turn, ...]:
    """The port for callers that have no messages but those of the transcript: summaries are made of their own text."""
    return ()


class Summariser(Protocol):
    """Writes a summary with the headings of `compression.core.sections`.

    `window`: tokens of the longest prompt that it can read; None: no limit. `provisional`: its summary is only a note,
    which the next working summariser rebuilds from the messages. `fills_budget`: its output costs nothing, so it may
    use all the room of the summaries. `marks_progress`: it was asked to mark the goal's progress, so marks in its
    output are its own.
    """

    name: str
    window: int | None
    provisional: bool
    fills_budget: bool
    marks_progress: bool

    async def summarise(self, passage: Passage) -> SummariserOutput:
        """Summarise one passage. Raises CompactionFailed("summarise", reason)."""
        ...
