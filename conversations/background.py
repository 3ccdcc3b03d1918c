"""Work that outlives its request: on the server's own loop, or at once where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from contextvars import Context
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.db import close_old_connections, transaction
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

_server: Embedded | None = None


class Embedded:
    """Runs tasks on the loop of the server that they were enqueued in."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[asyncio.Task[None]] = set()

    def enqueue(self, name: str, *args: str) -> None:
        # A fresh context: the request's own would tie the task to a thread that ends with the request.
        self.loop.call_soon_threadsafe(partial(self._start, name, *args), context=Context())

    def _start(self, name: str, *args: str) -> None:
        task = self.loop.create_task(_guarded(name, *args))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def stop(self) -> None:
        """Cancel what runs, and let it save what it has."""
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)


def enqueue(name: str, *args: str) -> None:
    """Run a task of `conversations.tasks` by name, after the open transaction has committed."""
    transaction.on_commit(partial(_dispatch, name, *args))


def attach(loop: asyncio.AbstractEventLoop | None) -> Embedded | None:
    """Make `loop` the one that work is sent to; None goes back to running it at once."""
    global _server
    _server = Embedded(loop) if loop else None
    return _server


def attached_to(loop: asyncio.AbstractEventLoop) -> bool:
    return _server is not None and _server.loop is loop


def _dispatch(name: str, *args: str) -> None:
    if _server is not None:
        _server.enqueue(name, *args)
    else:
        async_to_sync(_guarded)(name, *args)


async def _guarded(name: str, *args: str) -> None:
    """A task ends in its rows; what escapes is a bug, written to the log and to nobody's page."""
    task: Coroutine[Any, Any, None] = import_string(f"conversations.tasks.{name}")(*args)
    with contextlib.suppress(asyncio.CancelledError):
        try:
            # The thread that serves all tasks is never told that a request has ended.
            await sync_to_async(close_old_connections)()
            await task
        except Exception:
            logger.exception("task %s failed", name)
