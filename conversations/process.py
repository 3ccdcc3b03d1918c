"""What a process of the site does beside serving pages: work, the events of other processes, and upkeep."""

from __future__ import annotations

import asyncio
import contextlib
import gc

from django.conf import settings

from conversations import admission, background, relay, upkeep

GC_THRESHOLDS = 20_000, 20, 50


class Process:
    """Begun on the loop that everything runs on. `hears`: there are pages to tell of other processes' events."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, hears: bool = True) -> None:
        work = background.attach(loop)
        assert work is not None
        self.work = work
        self.relay = relay.attach(loop, hears=hears)
        self.asking = loop.create_task(admission.run()) if hears else None
        self.keeping = None if settings.CELERY_BROKER_URL else loop.create_task(upkeep.run())
        # What was imported stays, and what comes and goes is mostly in no cycle: looking through all of it takes
        # longer than a page may be kept waiting.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)

    async def stop(self) -> None:
        """Finish what can be finished in STOP_GRACE_SECONDS, and hand back the rest."""
        for task in (self.keeping, self.asking):
            if task:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        await self.work.stop(grace=settings.STOP_GRACE_SECONDS)
        if self.relay:
            relay.detach()
            await self.relay.stop()
