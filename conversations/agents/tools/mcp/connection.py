"""Keeps a connection to one server of tools open, in a task of its own.

The `mcp` package's contexts must be left by the task that entered them, but calls come from several tasks. This module
is only loaded once a server is called, as the package takes 26 MB and most of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    PARSE_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    Tool,
)

from conversations.agents.tools.mcp.connection_state import ConnectionState
from conversations.agents.tools.mcp.environment import pairs
from conversations.agents.tools.mcp.http import http
from conversations.agents.tools.mcp.lenient_results import lenient
from conversations.agents.tools.mcp.results import result_text
from conversations.agents.tools.mcp.stdio import stdio
from conversations.llm.tools import ToolFailed
from conversations.models import ToolServer

US = Implementation(name="chatsite", version="1")
QUOTED = 300
"""The most characters quoted of a server's error."""
SECRET_FROM = 6
"""The shortest secret value, in characters, that is left out of a server's quoted text."""
MAX_PAGES = 20
"""The most pages read of a server's list of tools."""
MODES = {ToolServer.Transport.STDIO.value: "legacy", ToolServer.Transport.HTTP.value: "auto"}
"""How the protocol's version is negotiated, by transport.

Many programs exit if their first message is not `initialize`; over HTTP, asking for the newest version first is safe.
"""
CLOSED = ("Connection closed", "SSE stream ended without a response")
"""The `mcp` package's own messages for a connection that is over."""
WITHOUT_WORDS = ("Server returned an error response", "Not Found", "Session terminated")
"""The `mcp` package's own error messages for a response that has only a status."""


class Forgotten(ToolFailed):
    """The server does not know this connection's session any more, and has not carried out the call."""


class Connection:
    """A connection that opens at once, in the background, and lasts until `close` or until the server ends it."""

    def __init__(self, server: ToolServer) -> None:
        self._server, self._seconds = server, float(server.timeout_seconds)
        self._secrets = _secrets(server)
        self._fate = ConnectionState()
        self._closing = asyncio.Event()
        self._calls = 0
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._opened.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
        self.task = asyncio.create_task(self._live())

    @property
    def is_over(self) -> bool:
        """Whether this connection cannot be used any more, so that the next call needs another one."""
        return bool(self._fate.words) or self._fate.is_forgotten or self.task.done()

    def close(self) -> None:
        self._closing.set()

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool; returns its result as text. Raises ToolFailed and Forgotten."""

        async def ask(client: Client) -> CallToolResult:
            request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
            try:
                return await client.session.send_request(request, CallToolResult)
            except MCPError as error:
                if error.code != HEADER_MISMATCH:
                    raise
            await client.session.list_tools()  # the list also defines which arguments go into headers
            return await client.session.send_request(request, CallToolResult)

        result = await self._asked(ask)
        hidden = self._without_secrets if result.is_error else str
        text = result_text(result, most=self._server.max_characters, hidden=hidden)
        if result.is_error:
            raise ToolFailed(text)
        return text

    async def tools(self) -> list[Tool]:
        """The tools that the server offers now. Raises ToolFailed and Forgotten."""

        async def ask(client: Client) -> list[Tool]:
            found: list[Tool] = []
            cursor = None
            for _ in range(MAX_PAGES):
                page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                found += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
            return found

        return await self._asked(ask)

    async def _asked[Answer](self, ask: Callable[[Client], Awaitable[Answer]]) -> Answer:
        client = await asyncio.shield(self._opened)
        self._calls += 1
        self._fate.status = 0
        try:
            async with asyncio.timeout(self._seconds):
                return await ask(client)
        except Exception as error:
            if self._fate.is_forgotten and isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                raise Forgotten(self._failed(error)) from None
            if isinstance(error, TimeoutError):
                self._fate.end(self._too_late)  # the server may hang: the next call is made by another connection
            raise self._failed(error) from None
        finally:
            self._calls -= 1
            if self.is_over and not self._calls:
                self.close()

    async def _live(self) -> None:
        """Open the connection and keep it until it is closed. Never raises: waiting callers get the error."""
        try:
            async with AsyncExitStack() as stack:
                late = asyncio.get_running_loop().call_later(self._seconds, self._fate.end, self._too_late)
                async with asyncio.timeout(self._seconds):
                    transport: Any = self._transport()
                    client = await stack.enter_async_context(
                        Client(lenient(transport), client_info=US, cache=None, mode=MODES[self._server.transport])
                    )
                late.cancel()
                self._opened.set_result(client)
                await self._closing.wait()
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(self._failed(error))
        finally:
            self._fate.end("broke off the connection")

    def _transport(self) -> AbstractAsyncContextManager[object]:
        server = self._server
        if server.transport == ToolServer.Transport.STDIO:
            return stdio(server.command, pairs(server.environment), self._fate)
        return http(server.url, pairs(server.headers), self._fate, seconds=self._seconds)

    @property
    def _too_late(self) -> str:
        return f"did not answer within {self._seconds:.0f} s"

    def _failed(self, error: BaseException) -> ToolFailed:
        return ToolFailed(f"The server {self._server.name} {self._without_secrets(self._why(_first(error)))}.")

    def _why(self, error: BaseException) -> str:
        if self._fate.words:
            return self._fate.words
        match error:
            case TimeoutError() | httpx2.TimeoutException():
                return self._too_late
            case FileNotFoundError():
                return "cannot be started: there is no such program"
            case OSError() | ValueError() if not self._opened.done() and not isinstance(error, UnicodeError):
                return "cannot be started"
            case httpx2.ConnectError():
                return "cannot be reached"
            case MCPError() if error.code != PARSE_ERROR:
                return self._as_it_says(error)
            case httpx2.HTTPError() | asyncio.CancelledError():
                return "broke off the connection"
        return "answered with what the protocol does not know"

    def _as_it_says(self, error: MCPError) -> str:
        if self._fate.status and error.message in WITHOUT_WORDS:
            return f"answered with the HTTP status {self._fate.status}"
        if error.code == CONNECTION_CLOSED and error.message in CLOSED:  # servers use this code for errors of their own
            return "broke off the connection"
        quoted = self._without_secrets(error.message)[:QUOTED]  # before the cut, which could leave half a secret
        return f"says: {' '.join(quoted.split()).rstrip('.')}"

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets.known:
            text = text.replace(secret, "…")
        return text


class _Secrets:
    """Secret values that are never quoted; a separate object, so that no listing of fields shows them."""

    __slots__ = ("known",)

    def __init__(self, known: list[str]) -> None:
        self.known = known


def _secrets(server: ToolServer) -> _Secrets:
    """The values of a server's environment and headers, and the words of these values, the longest first."""
    lines = f"{server.environment}\n{server.headers}".splitlines()
    values = [line.partition("=")[2].strip() for line in lines]
    words = {word for value in values for word in (value, *value.split()) if len(word) >= SECRET_FROM}
    return _Secrets(sorted(words, key=len, reverse=True))


def _first(error: BaseException) -> BaseException:
    """The first error of a group, or the error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
