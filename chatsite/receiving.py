"""A request on its way in: so large, so slow, and so many at once as may be."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from django.conf import settings

from chatsite.admitted import Admitted
from chatsite.bodies import SMALL, Held, is_sign_in
from chatsite.known import is_known
from chatsite.refusals import BodyTooLarge, Busy, TooSlow, Unknown
from chatsite.threads import Places, RequestThread

LARGE_BODY = 1_000_000
"""Bytes of a body that takes so much memory while it is read that only a few may be at once."""
LARGE_AT_ONCE = 2

_large = Places()


class Incoming:
    """The body of one request as it comes, and then its turn, before Django begins. `receive` raises Refused."""

    def __init__(self, scope: Any, receive: Any, thread: RequestThread, admitted: Admitted) -> None:
        headers = dict(scope["headers"])
        self._headers, self._admitted = scope["headers"], admitted
        self._held = Held(str((scope.get("client") or [""])[0]))
        self._most = SMALL if is_sign_in(scope["method"], scope["path"]) else settings.MAX_BODY_BYTES
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
                raise BodyTooLarge(self._most)
            await self._count(len(message.get("body", b"")))
            if not message.get("more_body"):
                self.is_whole = True
                await self._turn()
        return message

    async def require_size(self) -> None:
        """Of what is declared, before anything is read. Raises BodyTooLarge, and Unknown."""
        if self.declared > self._most:
            raise BodyTooLarge(self._most)
        if self.declared > SMALL:
            await self._require_known()
            self._held.reserve(self.declared)

    def close(self) -> None:
        self._held.close()
        if self._is_large:
            _large.leave()
            gc.collect()  # what it leaves is in cycles, and large

    async def _count(self, size: int) -> None:
        """So much more has come. Raises Busy, and Unknown."""
        if self.size > SMALL >= self.size - size and self.declared <= SMALL:
            await self._require_known()
        self._held.take(size)

    async def _require_known(self) -> None:
        if not await is_known(self._headers, self._held.address):
            raise Unknown(SMALL)

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
            if not self._is_large:
                self._held.close()  # a call may wait for its reply for minutes
        except Places.Full:
            raise Busy from None
