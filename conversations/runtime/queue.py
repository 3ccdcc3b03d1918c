"""The queue of tasks: runs them in a worker, on the server's own loop, or immediately if there is neither.

The rows say what there is to do; a queued task only starts it. `conversations.turns.recovery` finds work whose task
was lost.
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

from conversations.runtime import log_context

logger = logging.getLogger(__name__)

WORK = "chatsite.work"
"""The broker's only task; its arguments are the name of a function in `conversations.tasks` and its arguments."""

_server: Embedded | None = None
_without_server: set[asyncio.Task[Any]] = set()
"""Tasks that run without a server; the loop itself keeps only weak references to its tasks."""


class Backend:
    """Carries a task to its place; `is_here`: that is the process in which it was enqueued."""

    is_here = True

    def enqueue(self, name: str, *args: str) -> None:
        raise NotImplementedError


class Immediate(Backend):
    """Runs tasks at once, as in a command and in tests: the caller waits for them."""

    def enqueue(self, name: str, *args: str) -> None:
        async_to_sync(_guarded)(name, *args)


class Broker(Backend):
    """Sends tasks to workers."""

    is_here = False

    def enqueue(self, name: str, *args: str) -> None:
        from celery import current_app

        try:
            current_app.send_task(WORK, [name, *args], headers=_origin())
        except Exception as error:  # of the broker's own library
            logger.warning(
                "CELERY_BROKER_URL: the broker cannot be used (%s). What was asked for is stored, and begins later.",
                type(error).__name__,
            )


class Embedded(Backend):
    """Runs tasks on the loop of the process that enqueued them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[asyncio.Task[None]] = set()
        self.is_open = True

    def enqueue(self, name: str, *args: str) -> None:
        # Use a fresh context: the request's would tie the task to a thread that ends with the request.
        context = Context()
        context.run(log_context.bind, **_origin())
        self.loop.call_soon_threadsafe(partial(self._start, name, *args), context=context)

    def _start(self, name: str, *args: str) -> None:
        if not self.is_open:
            return  # another process, or the next start, finds the task's row
        task = self.loop.create_task(_guarded(name, *args))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def stop(self, *, grace: float = 0) -> None:
        """Wait `grace` seconds for running tasks, then cancel them; a cancelled task saves or hands back its work."""
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
    """Make `loop` the one that runs this process's tasks; None: tasks run immediately in the caller."""
    global _server
    _server = Embedded(loop) if loop else None
    return _server


def keep(task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    """Keep a task that outlives its request; when the server stops, the task gets time to end."""
    kept = _server.running if _server else _without_server
    kept.add(task)
    task.add_done_callback(kept.discard)
    return task


def backend() -> Backend:
    """Chosen by CELERY_BROKER_URL, and by whether this process serves."""
    if settings.CELERY_BROKER_URL:
        return Broker()
    return _server or Immediate()


def is_here() -> bool:
    """Whether this process runs the tasks that it enqueues, as no broker is set."""
    return backend().is_here


def attached_to(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether `loop` runs this process's tasks."""
    return _server is not None and _server.loop is loop


def work(name: str, *args: str, request_id: str | None = None) -> None:
    """Start the task of a broker's message on the worker's loop, without waiting for its end.

    Waiting could block the worker: a reply waits for its compaction, which starts with a later message.
    """
    assert _server is not None, "a worker has a loop"
    with log_context.bound(**({"request_id": request_id} if request_id else {})):
        _server.enqueue(name, *args)


def _dispatch(name: str, *args: str) -> None:
    backend().enqueue(name, *args)


def _origin() -> dict[str, str]:
    """The id of the request that enqueues a task, for the log's lines about the task."""
    return {name: str(id) for name, id in log_context.ids().items() if name == "request_id"}


async def _guarded(name: str, *args: str) -> None:
    """Run a task. It reports errors in its rows; an exception that escapes is a bug and goes to the log."""
    with contextlib.suppress(asyncio.CancelledError):
        try:
            task: Callable[..., Coroutine[Any, Any, None]] = import_string(f"conversations.tasks.{name}")
            # No request ends in the tasks' thread, so Django never closes its old connections there.
            await sync_to_async(close_old_connections)()
            await task(*args)
        except (OperationalError, InterfaceError) as error:
            logger.error("task %s: the database cannot be used (%s)", name, type(error).__name__)
        except Exception:
            logger.exception("task %s failed", name)
