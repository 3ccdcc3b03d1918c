"""Reuses threads, with their open database connections, for requests, and limits how many requests run at once.

Django's ASGI handler starts a thread, and so a connection, for every request: 7 ms on SQLite, most of a page's time. It
does not if a ThreadSensitiveContext is active already, so this module enters one with a reused thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.db import connections

from chatsite.fair_semaphore import FairSemaphore, Requester

MAX_IDLE_THREADS = 8
"""The most idle threads that are kept for later requests."""
PAGES_AT_ONCE = 8
"""The most pages that are made at a time: more would wait for each other at each row read, and take longer."""
PARSED_AT_ONCE = 2
"""The most calls of the gateway that are parsed at a time: threads share one interpreter, and more only disturb it."""
FILES_AT_ONCE = 8
"""The most uploads and imports at a time; they have places of their own, so that pages do not wait for them."""
PAGES_WAITING = 1_000
"""The most pages that wait for a place; after a restart, all open pages come back at once."""
SIGN_INS_AT_ONCE = 2
"""The most passwords hashed at a time: each takes half a second of CPU time."""
SIGN_INS_WAITING = 50
MAX_END_SECONDS = 5.0
"""When the server stops, requests have this long to end."""
NOBODY = Requester("", "")
EVENT_STREAM = (b"Content-Type", b"text/event-stream")


class Kind(Enum):
    """The kinds of requests; each has places of its own."""

    PAGE = "page"
    """A page or a part of one, which never waits for a model."""
    CALL = "call"
    """A call of the API or the gateway, which may wait for a model as long as a reply takes."""
    GATEWAY = "gateway"
    """A call of the gateway, which gives up its thread once it is parsed."""
    FILE = "file"
    """A request with a file, which waits for its turn to be parsed."""
    SIGN_IN = "sign-in"
    """A request with a password to hash."""


LIMITS = {
    Kind.PAGE: PAGES_AT_ONCE,
    Kind.GATEWAY: PARSED_AT_ONCE,
    Kind.FILE: FILES_AT_ONCE,
    Kind.SIGN_IN: SIGN_INS_AT_ONCE,
}
"""The number of places by kind; calls have MAX_REQUESTS."""
_places = {
    Kind.PAGE: FairSemaphore(waiting=PAGES_WAITING),
    Kind.CALL: FairSemaphore(),
    Kind.GATEWAY: FairSemaphore(waiting=PAGES_WAITING),
    Kind.FILE: FairSemaphore(),
    Kind.SIGN_IN: FairSemaphore(waiting=SIGN_INS_WAITING),
}
_idle: list[ThreadPoolExecutor] = []
_at_work: set[RequestThread] = set()


def _at_once(kind: Kind) -> int:
    """The number of places for a kind of requests."""
    return LIMITS.get(kind, settings.MAX_REQUESTS)


class SingleThreadExecutor(Executor):
    """Executor with one thread, taken at the first work: an idle one, or a new one.

    A request that waits for its place has none, so that the next one finds the thread of the one before.
    """

    thread: ThreadPoolExecutor | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.thread is None:
            self.thread = _idle_thread() or ThreadPoolExecutor(max_workers=1, thread_name_prefix="request")
        return self.thread.submit(fn, *args, **kwargs)


def _idle_thread() -> ThreadPoolExecutor | None:
    with suppress(IndexError):  # threads return themselves at any time
        return _idle.pop()
    return None


class RequestThread:
    """The thread for the synchronous parts of one request, and its place.

    A body that is still arriving needs no place: the request takes it afterwards.
    """

    def __init__(self, kind: Kind, who: Requester = NOBODY) -> None:
        self.executor = SingleThreadExecutor()
        self._kind, self.who = kind, who
        self.context = ThreadSensitiveContext(executor=self.executor)
        self.is_gone = False
        self._is_taken = False
        _at_work.add(self)

    async def take(self) -> None:
        """Wait for a place of the request's kind. Raises QueueFull."""
        await _places[self._kind].take(_at_once(self._kind), self.who)
        self._is_taken = True

    def letting_go(self, send: Any) -> Any:
        """`send`, which gives up thread and place when a stream of events begins, because the stream stays open for
        long.
        """

        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start" and EVENT_STREAM in message["headers"]:
                await self.let_go()
            await send(message)

        return sending

    async def let_go(self) -> None:
        """Give up the thread; later synchronous work of the request runs in the threads that sockets use."""
        if self.is_gone:
            return
        self.is_gone = True
        await self.context.__aexit__(None, None, None)
        self.end()

    def after(self, work: Callable[[], Any]) -> None:
        """Call `work` once the thread has finished the request's remaining work."""
        if self.is_gone:
            work()
        else:
            self.executor.submit(work)

    def put_back(self) -> None:
        """Return the thread to the idle ones, or end it, and give up the place; the request's last work in it."""
        _at_work.discard(self)
        thread = self.executor.thread
        if thread and len(_idle) < MAX_IDLE_THREADS:
            _idle.append(thread)
        elif thread:
            connections.close_all()
            thread.shutdown(wait=False)
        if self._is_taken:
            _places[self._kind].leave(self.who)

    def end(self) -> None:
        """Return the thread after the request's remaining work, so that no other request waits for it."""
        if self.executor.thread:
            self.executor.submit(self.put_back)
        else:
            self.put_back()


@asynccontextmanager
async def request_thread(kind: Kind = Kind.PAGE, who: Requester = NOBODY) -> AsyncIterator[RequestThread]:
    """A thread for a request of `who`, with Django's ThreadSensitiveContext active."""
    thread = RequestThread(kind, who)
    try:
        async with thread.context:
            yield thread
    finally:
        # A cancelled request may have left work in its thread: return the thread only after it.
        if not thread.is_gone:
            thread.end()


async def wait_for_threads() -> None:
    """Wait for the threads of cancelled requests before the loop ends, at most MAX_END_SECONDS.

    The thread may need the loop: without it, the thread would wait forever, and so would the process.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_END_SECONDS):
            while _at_work:
                await asyncio.sleep(0.01)
