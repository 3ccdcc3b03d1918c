"""Limits how many requests of a compaction a provider is sent at a time: fewer once it refuses that many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one request. `limit` is the limit when it was sent; `shared`: others were sent at the same time."""

    limit: int
    shared: bool = False


class ConcurrencyLimiter:
    """Limiter of requests at a time. A refusal halves the limit for the rest of the run, and all wait with it."""

    def __init__(self, limit: int, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.limit = limit
        self._sleep = sleep
        self._slots: set[Slot] = set()
        self._freed = asyncio.Condition()
        self._resumes_at = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Hold a place, once one is free and no pause is required."""
        slot = await self._taken()
        try:
            yield slot
        finally:
            self._slots.discard(slot)
            await asyncio.shield(self._notify())

    def halve(self, refused: Slot) -> None:
        """Lower the limit by which the refused request was sent, unless another refusal has lowered it already."""
        if refused.limit == self.limit:
            self.limit = max(1, self.limit // 2)

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._resumes_at = max(self._resumes_at, asyncio.get_running_loop().time() + seconds)

    async def _taken(self) -> Slot:
        while True:
            async with self._freed:
                await self._freed.wait_for(lambda: len(self._slots) < self.limit)
                pause = self._resumes_at - asyncio.get_running_loop().time()
                if pause <= 0:
                    slot = Slot(self.limit)
                    self._slots.add(slot)
                    if len(self._slots) > 1:
                        for one in self._slots:
                            one.shared = True
                    return slot
            await self._sleep(pause)

    async def _notify(self) -> None:
        async with self._freed:
            self._freed.notify_all()
