"""One at a time, in the order of asking, across threads and event loops."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from threading import Lock


class Gate:
    """An asynchronous context manager that one holder passes at a time; an asyncio.Lock knows only one loop."""

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
            if not turn.cancel():  # it had come: hand it on
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
