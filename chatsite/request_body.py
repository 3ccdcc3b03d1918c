"""Receives a request's body within limits of size, time and number, before Django handles the request."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from django.conf import settings

from chatsite.admitted_requests import Admitted
from chatsite.bodies import SMALL_BODY_BYTES, BodyBytes, is_sign_in
from chatsite.fair_semaphore import FairSemaphore, QueueFull
from chatsite.known_callers import is_known
from chatsite.refusal_responses import BodyTooLarge, Busy, TooSlow, Unknown
from chatsite.request_threads import RequestThread

LARGE_BODY_BYTES = 1_000_000
"""A larger body takes so much memory while it is parsed that only MAX_LARGE_AT_ONCE may be parsed at a time."""
MAX_LARGE_AT_ONCE = 2

_large = FairSemaphore()


class Incoming:
    """The body of one request while it arrives; then the request waits for its place. `receive` raises Refused."""

    def __init__(self, scope: Any, receive: Any, thread: RequestThread, admitted: Admitted) -> None:
        headers = dict(scope["headers"])
        self._headers, self._path, self._admitted = scope["headers"], scope["path"], admitted
        self._held = BodyBytes(str((scope.get("client") or [""])[0]))
        self._most = SMALL_BODY_BYTES if is_sign_in(scope["method"], scope["path"]) else settings.MAX_BODY_BYTES
        self.declared = int(headers.get(b"content-length") or 0)
        self.is_whole = False
        self.size = 0
        self._is_large = False
        self._is_awaited = self.declared > 0 or b"transfer-encoding" in headers
        self._until = asyncio.get_running_loop().time() + settings.BODY_SECONDS
        self._receive, self._thread = receive, thread

    async def receive(self) -> Any:
        if self.is_whole:
            return await self._admitted.receive(self._receive)
        message = await self._next()
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            if self.size > self._most:
                raise BodyTooLarge(self._most, path=self._path)
            await self._count(len(message.get("body", b"")))
            if not message.get("more_body"):
                self.is_whole = True
                await self._turn()
        return message

    async def require_size(self) -> None:
        """Check the declared size before the body is read. Raises BodyTooLarge, Unknown or Busy."""
        if self.declared > self._most:
            raise BodyTooLarge(self._most, path=self._path)
        if self.declared > SMALL_BODY_BYTES:
            await self._require_known()
            self._held.reserve(self.declared)

    def close(self) -> None:
        self._held.close()
        if self._is_large:
            _large.leave(self._thread.who)
            gc.collect()  # parsing leaves large objects in reference cycles

    async def _count(self, size: int) -> None:
        """Count `size` more bytes that arrived. Raises Busy or Unknown."""
        if self.size > SMALL_BODY_BYTES >= self.size - size and self.declared <= SMALL_BODY_BYTES:
            await self._require_known()
        self._held.take(size)

    async def _require_known(self) -> None:
        if not await is_known(self._headers, self._held.address):
            raise Unknown(SMALL_BODY_BYTES)

    async def _next(self) -> Any:
        if not self._is_awaited:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                return await self._receive()
        except TimeoutError:
            raise TooSlow("body", settings.BODY_SECONDS) from None

    async def _turn(self) -> None:
        try:
            if self.size > LARGE_BODY_BYTES:
                await _large.take(MAX_LARGE_AT_ONCE, self._thread.who)
                self._is_large = True
            await self._thread.take()
            if not self._is_large:
                self._held.close()  # the call may take minutes: do not count its body any longer
        except QueueFull:
            raise Busy from None
