"""Threads for requests that outlive them, each with its open database connection, and no more than there may be.

Django's ASGI handler makes a thread for every request, and the thread makes a connection: 7 ms on SQLite, most of
what a page takes. It leaves both to whoever has chosen a thread before, which is what this does.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.db import connections

IDLE = 8
"""Threads that are kept for the next requests."""
MAX_WAITING = 200
"""Requests that may wait for a thread."""
WAIT_SECONDS = 10.0
"""How long they may."""


class Places:
    """So many at once; the others wait in the order of their coming."""

    class Full(Exception):
        """As many are at work, and as many wait, as may."""

    def __init__(self) -> None:
        self.taken = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()

    async def take(self, most: int) -> None:
        """Raises Full where too many wait already, or none has become free in WAIT_SECONDS."""
        with self._lock:
            if self.taken < most:
                self.taken += 1
                return
            if len(self.waiting) >= MAX_WAITING:
                raise self.Full
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except BaseException as error:
            with self._lock:
                given = turn not in self.waiting
                if not given:
                    self.waiting.remove(turn)
            if given:
                self.leave()  # it came too late: the next one's
            raise (self.Full if isinstance(error, TimeoutError) else error) from None

    def leave(self) -> None:
        """From any thread: the place goes to who has waited longest."""
        with self._lock:
            turn = self.waiting.popleft() if self.waiting else None
            if turn is None:
                self.taken -= 1
        if turn is not None:
            turn.get_loop().call_soon_threadsafe(_give, turn)


_places = Places()
_idle: list[ThreadPoolExecutor] = []


class RequestThread:
    """A thread for the synchronous parts of one request, one of those that are idle. It is there before it may be used:
    a body that is still on its way takes no place.
    """

    def __init__(self) -> None:
        self.executor = _idle.pop() if _idle else ThreadPoolExecutor(max_workers=1, thread_name_prefix="request")
        self._is_taken = False

    async def take(self) -> None:
        """Wait for a place. Raises Places.Full."""
        await _places.take(settings.MAX_REQUESTS)
        self._is_taken = True

    def put_back(self) -> None:
        """The last work of a request in its thread."""
        if len(_idle) < IDLE:
            _idle.append(self.executor)
        else:
            connections.close_all()
            self.executor.shutdown(wait=False)
        if self._is_taken:
            _places.leave()


@asynccontextmanager
async def request_thread() -> AsyncIterator[RequestThread]:
    thread = RequestThread()
    try:
        async with ThreadSensitiveContext(executor=thread.executor):
            yield thread
    finally:
        # A request that was given up may have left work in its thread: nobody shall wait behind it.
        thread.executor.submit(thread.put_back)


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
