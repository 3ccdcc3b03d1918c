"""Follows the parts of a compaction: their progress is shown, and each accepted answer is kept at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compression.core.ports import Summariser
from compression.core.values import Passage
from conversations.compaction.model_summariser import ModelSummariser
from conversations.compaction.progress import Progress


@dataclass(frozen=True, slots=True)
class Parts:
    """The PartWatch of one summariser in a run with this progress."""

    progress: Progress
    summariser: Summariser

    async def planned(self, steps: Sequence[Sequence[float]], *, at_once: int, tokens: int) -> None:
        await self.progress.planned(steps, at_once=at_once, tokens=tokens)

    async def begun(self, number: int) -> None:
        self.progress.estimate.begin(number)

    async def ended(self, passage: Passage) -> None:
        """Note the end of a part and keep its answer. Raises LeaseLost: a worker without its lease keeps nothing."""
        await self.progress.ended(passage.number)
        if isinstance(self.summariser, ModelSummariser):
            await self.summariser.keep(passage)
