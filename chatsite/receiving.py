"""A request on its way in: so large, so slow, and so many at once as may be."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from django.conf import settings

from chatsite.refusals import BodyTooLarge, Busy, TooSlow
from chatsite.threads import Places, RequestThread

LARGE_BODY = 1_000_000
"""Bytes of a body that takes so much memory while it is read that only a few may be at once."""
LARGE_AT_ONCE = 2

_large = Places()


class Incoming:
    """The body of one request as it comes, and then its turn, before Django begins. `receive` raises Refused."""

    def __init__(self, scope: Any, receive: Any, thread: RequestThread) -> None:
        headers = dict(scope["headers"])
        self.declared = int(headers.get(b"content-length") or 0)
        self.is_whole = False
        self.size = 0
        self._is_large = False
        self._is_awaited = self.declared > 0 or b"transfer-encoding" in headers
        self._until = asyncio.get_running_loop().time() + settings.BODY_SECONDS
        self._receive, self._thread = receive, thread

    async def receive(self) -> Any:
        if self.is_whole:
            return await self._receive()
        message = await self._next()
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            if self.size > settings.MAX_BODY_BYTES:
                raise BodyTooLarge
            if not message.get("more_body"):
                self.is_whole = True
                await self._turn()
        return message

    def require_size(self) -> None:
        """Of what is declared, before anything is read. Raises BodyTooLarge."""
        if self.declared > settings.MAX_BODY_BYTES:
            raise BodyTooLarge

    def close(self) -> None:
        if self._is_large:
            _large.leave()
            gc.collect()  # what it leaves is in cycles, and large

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
            if self.size > LARGE_BODY:
                await _large.take(LARGE_AT_ONCE)
                self._is_large = True
            await self._thread.take()
        except Places.Full:
            raise Busy from None
