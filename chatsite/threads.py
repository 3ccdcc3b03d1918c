"""Threads for requests that outlive them, each with its open database connection, and no more than there may be.

Django's ASGI handler makes a thread for every request, and the thread makes a connection: 7 ms on SQLite, most of
what a page takes. It leaves both to whoever has chosen a thread before, which is what this does.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.db import connections

IDLE = 8
"""Threads that are kept for the next requests."""
PAGES_AT_ONCE = 8
"""That are made at the same time: more would wait for each other with each row that they read, and take longer."""
FILES_AT_ONCE = 8
"""Uploads and imports that have begun: they wait for each other, and pages shall not wait for them."""
PAGES_WAITING = 1_000
"""Pages that may wait for a thread, as after a restart, when all that are open come back."""
SIGN_INS_AT_ONCE = 2
"""Passwords that are hashed at the same time: each takes half a second of a processor."""
SIGN_INS_WAITING = 50
MAX_WAITING = 200
"""The same of other requests."""
WAIT_SECONDS = 20.0
"""How long they may."""
END_SECONDS = 5.0
"""That requests have to end in when the server does."""
EVENT_STREAM = (b"Content-Type", b"text/event-stream")


class Places:
    """So many at once; the others wait in the order of their coming."""

    class Full(Exception):
        """As many are at work, and as many wait, as may."""

    def __init__(self, *, waiting: int = MAX_WAITING) -> None:
        self.taken, self._may_wait = 0, waiting
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()

    async def take(self, most: int) -> None:
        """Raises Full where too many wait already, or none has become free in WAIT_SECONDS."""
        with self._lock:
            if self.taken < most:
                self.taken += 1
                return
            if len(self.waiting) >= self._may_wait:
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


class Kind(Enum):
    """What a request asks for: each kind has places of its own."""

    PAGE = "page"
    """Never waits for a model."""
    CALL = "call"
    """Of the API or the gateway: may wait for a model, for as long as a reply takes."""
    FILE = "file"
    """Comes in with a file, and waits for others until it is its turn to be read."""
    SIGN_IN = "sign-in"
    """Hashes a password."""


_places = {
    Kind.PAGE: Places(waiting=PAGES_WAITING),
    Kind.CALL: Places(),
    Kind.FILE: Places(),
    Kind.SIGN_IN: Places(waiting=SIGN_INS_WAITING),
}
_idle: list[ThreadPoolExecutor] = []
_at_work: set[RequestThread] = set()


def _at_once(kind: Kind) -> int:
    """How many requests of a kind may have begun at the same time."""
    limits = {Kind.PAGE: PAGES_AT_ONCE, Kind.FILE: FILES_AT_ONCE, Kind.SIGN_IN: SIGN_INS_AT_ONCE}
    return limits.get(kind, settings.MAX_REQUESTS)


class RequestThread:
    """A thread for the synchronous parts of one request, one of those that are idle. It is there before it may be used:
    a body that is still on its way takes no place.
    """

    def __init__(self, kind: Kind) -> None:
        self.executor = _idle.pop() if _idle else ThreadPoolExecutor(max_workers=1, thread_name_prefix="request")
        self._kind = kind
        self.context = ThreadSensitiveContext(executor=self.executor)
        self.is_gone = False
        self._is_taken = False
        _at_work.add(self)

    async def take(self) -> None:
        """Wait for a place. Raises Places.Full."""
        await _places[self._kind].take(_at_once(self._kind))
        self._is_taken = True

    def letting_go(self, send: Any) -> Any:
        """`send`, after which a stream of events has no thread and no place any more: it is open for long, waiting."""

        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start" and EVENT_STREAM in message["headers"]:
                await self.let_go()
            await send(message)

        return sending

    async def let_go(self) -> None:
        """What is synchronous from here on is done where sockets have theirs done."""
        if self.is_gone:
            return
        self.is_gone = True
        await self.context.__aexit__(None, None, None)
        # Only after what this request has left in it: nobody shall wait behind that.
        self.executor.submit(self.put_back)

    def after(self, work: Callable[[], Any]) -> None:
        """Do it when the thread has done what this request has left in it."""
        if self.is_gone:
            work()
        else:
            self.executor.submit(work)

    def put_back(self) -> None:
        """The last work of a request in its thread."""
        _at_work.discard(self)
        if len(_idle) < IDLE:
            _idle.append(self.executor)
        else:
            connections.close_all()
            self.executor.shutdown(wait=False)
        if self._is_taken:
            _places[self._kind].leave()


@asynccontextmanager
async def request_thread(kind: Kind = Kind.PAGE) -> AsyncIterator[RequestThread]:
    thread = RequestThread(kind)
    try:
        async with thread.context:
            yield thread
    finally:
        # A request that was given up may have left work in its thread: nobody shall wait behind it.
        if not thread.is_gone:
            thread.executor.submit(thread.put_back)


async def settle() -> None:
    """Before the loop ends. A request that was given up may have its thread at work still, and that may need the loop:
    it would wait for ever, and the process for it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while _at_work:
                await asyncio.sleep(0.01)


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
