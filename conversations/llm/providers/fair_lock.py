"""A lock that is granted in the order of requests, across threads and event loops."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from threading import Lock


class FairLock:
    """An asynchronous context manager with one holder at a time; unlike an asyncio.Lock it works across loops."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._busy = False
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        turn: Future[None] = Future()
        with self._lock:
            if not self._busy:
                self._busy = True
                return
            self._waiting.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # the lock was granted just before the cancellation: pass it on
                self._open()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._open()

    def _open(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._busy = False
