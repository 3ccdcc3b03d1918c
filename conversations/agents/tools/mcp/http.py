"""Connects to a server of tools by streamable HTTP, by the `mcp` package, with bounds on the responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from conversations.agents.tools.mcp.bounds import LARGEST, SizeBudget, TooMuch
from conversations.agents.tools.mcp.connection_state import ConnectionState
from conversations.llm.clients import certificates

SESSION = "mcp-session-id"


@asynccontextmanager
async def http(url: str, headers: dict[str, str], fate: ConnectionState, *, seconds: float) -> AsyncIterator[object]:
    """Open the streams of a server. `headers` are sent with each request to its address, but not after a redirect."""

    async def watch(response: httpx2.Response) -> None:
        if response.status_code >= 400 and response.request.method == "POST":  # many servers refuse the GET of a stream
            fate.status = response.status_code
            fate.is_forgotten |= response.status_code == 404 and SESSION in response.request.headers
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, fate, is_packed="content-encoding" in response.headers)

    async with (
        httpx2.AsyncClient(
            headers={"accept-encoding": "identity", **headers},
            timeout=httpx2.Timeout(seconds, read=seconds + 5),
            verify=await asyncio.to_thread(certificates),
            event_hooks={"response": [watch]},
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A response's body within the bounds of Allowance.

    A compressed body is refused: it was not requested, and it can expand to any size.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, fate: ConnectionState, *, is_packed: bool) -> None:
        self._stream, self._fate, self._is_packed = stream, fate, is_packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        allowance = SizeBudget()
        try:
            if self._is_packed:
                raise TooMuch("sent a packed answer, which was not asked for")
            async for part in self._stream:
                allowance.take(part)
                yield part
        except TooMuch as reason:
            self._fate.end(str(reason))
            raise httpx2.ReadError(str(reason)) from None

    async def aclose(self) -> None:
        await self._stream.aclose()
