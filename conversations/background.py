"""Work that outlives its request: in a worker, on the server's own loop, or at once where there is neither.

The rows say what there is to do; what is enqueued only wakes somebody up. What gets lost on the way is found by
`conversations.orphans`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, transaction
from django.utils.module_loading import import_string

from conversations import logged

logger = logging.getLogger(__name__)

WORK = "chatsite.work"
"""The one task that a broker carries: the name of a function of `conversations.tasks`, and its arguments."""

_server: Embedded | None = None
_loose: set[asyncio.Task[Any]] = set()
"""What is kept where there is no server: the loop alone would forget it."""


class Embedded:
    """Runs tasks on the loop of the process that they were enqueued in."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[asyncio.Task[None]] = set()
        self.is_open = True

    def enqueue(self, name: str, *args: str) -> None:
        # A fresh context: the request's own would tie the task to a thread that ends with the request.
        context = Context()
        context.run(logged.note, **_origin())
        self.loop.call_soon_threadsafe(partial(self._start, name, *args), context=context)

    def _start(self, name: str, *args: str) -> None:
        if not self.is_open:
            return  # its row is found by another process, or by the next start
        task = self.loop.create_task(_guarded(name, *args))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def stop(self, *, grace: float = 0) -> None:
        """Let what runs end within `grace` seconds; what does not saves what it has, or is handed back."""
        self.is_open = False
        if self.running and grace:
            await asyncio.wait(self.running, timeout=grace)
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)


def enqueue(name: str, *args: str) -> None:
    """Run a task of `conversations.tasks` by name, after the open transaction has committed."""
    transaction.on_commit(partial(_dispatch, name, *args))


def attach(loop: asyncio.AbstractEventLoop | None) -> Embedded | None:
    """Make `loop` the one that work is done on in this process; None goes back to running it at once."""
    global _server
    _server = Embedded(loop) if loop else None
    return _server


def keep(task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    """Work that a request has begun and that outlives it: it is given time to end when the server stops."""
    kept = _server.running if _server else _loose
    kept.add(task)
    task.add_done_callback(kept.discard)
    return task


def is_here() -> bool:
    """Whether what is enqueued is done in this process."""
    return not settings.CELERY_BROKER_URL


def attached_to(loop: asyncio.AbstractEventLoop) -> bool:
    return _server is not None and _server.loop is loop


def work(name: str, *args: str, request_id: str | None = None) -> None:
    """What a worker does with a message of the broker: begin the task on its loop.

    It is not waited for: replies that wait for a compaction would hold up the message that begins it.
    """
    assert _server is not None, "a worker has a loop"
    with logged.noted(**({"request_id": request_id} if request_id else {})):
        _server.enqueue(name, *args)


def _dispatch(name: str, *args: str) -> None:
    if settings.CELERY_BROKER_URL:
        _send(name, *args)
    elif _server is not None:
        _server.enqueue(name, *args)
    else:
        async_to_sync(_guarded)(name, *args)


def _origin() -> dict[str, str]:
    """The request that asked for what is enqueued, for the lines of the log."""
    return {name: str(id) for name, id in logged.ids().items() if name == "request_id"}


def _send(name: str, *args: str) -> None:
    from celery import current_app

    try:
        current_app.send_task(WORK, [name, *args], headers=_origin())
    except Exception as error:  # of the broker's own library
        logger.warning(
            "CELERY_BROKER_URL: the broker cannot be used (%s). What was asked for is stored, and begins later.",
            type(error).__name__,
        )


async def _guarded(name: str, *args: str) -> None:
    """A task ends in its rows; what escapes is a bug, written to the log and to nobody's page."""
    task: Callable[..., Coroutine[Any, Any, None]] = import_string(f"conversations.tasks.{name}")
    with contextlib.suppress(asyncio.CancelledError):
        try:
            # The thread that serves all tasks is never told that a request has ended.
            await sync_to_async(close_old_connections)()
            await task(*args)
        except (OperationalError, InterfaceError) as error:
            logger.error("task %s: the database cannot be used (%s)", name, type(error).__name__)
        except Exception:
            logger.exception("task %s failed", name)
