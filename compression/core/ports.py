"""What the engine needs from outside: something that counts, something that summarises, someone to tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from compression.core.values import Passage, Written

TokenCounter = Callable[[str], int]
"""Tokens of a text, without the overhead of a message."""

OnStage = Callable[[str, int], Awaitable[None]]
"""Told the stage's name and the percent done when a stage begins."""

OnPart = Callable[[int, int, int], Awaitable[None]]
"""Told the number of a passage (from 0) when its summary begins, how many there are, and the tokens of all that is
replaced; and at the end their number twice."""


async def nobody(*_: object) -> None:
    """Where nobody is to be told of parts."""


class Summariser(Protocol):
    """Writes a summary with the headings of `compression.core.sections`.

    `window` is the size in tokens of the largest prompt that it can read, None where there is no limit.
    `provisional` says that its summary is only a note, to be rebuilt from the originals by the next one that works;
    `fills_budget` that its words cost nothing, so that it may use all the room that summaries have; `marks_progress`
    that it was told to mark what was reached of the goal, so that marks are its own and not quoted ones.
    """

    name: str
    window: int | None
    provisional: bool
    fills_budget: bool
    marks_progress: bool

    async def summarise(self, passage: Passage) -> Written:
        """Summarise one passage. Raises CompactionFailed("summarise", reason)."""
        ...
