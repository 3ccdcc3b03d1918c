"""The background work of a process of the site: tasks, the events of other processes, and upkeep."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import sys

from django.conf import settings

from conversations import admission
from conversations.ops import maintenance
from conversations.runtime import queue, relay

GC_THRESHOLDS = 20_000, 20, 50


class Process:
    """Background work of a process on one loop. With `hears`, pages get events of other processes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, hears: bool = True) -> None:
        work = queue.attach(loop)
        assert work is not None
        self.work = work
        self.relay = relay.attach(loop, hears=hears)
        self.asking = loop.create_task(admission.run()) if hears else None
        self.keeping = loop.create_task(maintenance.run()) if queue.is_here() else None
        # What was imported stays, and what comes and goes is mostly in no cycle: looking through all of it takes
        # longer than a page may be kept waiting.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        trim()

    async def stop(self) -> None:
        """End the tasks that can end within STOP_GRACE_SECONDS, and hand back the others."""
        for task in (self.keeping, self.asking):
            if task:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        await self.work.stop(grace=settings.STOP_GRACE_SECONDS)
        if self.relay:
            relay.detach()
            await self.relay.stop()


def trim() -> None:
    """Give the system the 5 MB that only the start needed; no effect with a C library other than GNU's."""
    if sys.platform == "linux" and (give_back := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        give_back(0)
