"""Ends a long request once its session or key is no longer valid."""

from __future__ import annotations

import asyncio
from typing import Any

from chatsite.refusal_responses import SignedOut, refuse
from conversations.admission import Admission


class Admitted:
    """A request that can lose its permission: its handler then sees a disconnected client, its client gets an end."""

    def __init__(self, send: Any) -> None:
        self.admission = Admission(self._end)
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._send = send
        self._is_begun = self._is_over = False

    @property
    def is_gone(self) -> bool:
        return self._gone.done()

    async def receive(self, receive: Any) -> Any:
        """The message after the body: the disconnection of the client, or the end of the permission."""
        coming = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((coming, self._gone), return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else {"type": "http.disconnect"}
        finally:
            coming.cancel()

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of the response, unless the permission has ended."""
        if self.is_gone:
            return  # the handler has not noticed the end yet
        self._is_begun = True
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def end(self, scope: Any) -> None:
        """Finish the response after the handler, if the permission ended before it."""
        if not self.is_gone or self._is_over:
            return
        if self._is_begun:
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await refuse(scope, None, self._send, SignedOut())

    def _end(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)
