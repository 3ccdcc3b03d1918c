"""Calls the administrator's servers of tools by the Model Context Protocol."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from conversations.agents.tools.mcp.definitions import ToolListing, look
from conversations.models import ToolServer

if TYPE_CHECKING:
    from conversations.agents.tools.mcp.connection import Connection

CLOSING = 5.0
"""Time that servers have to end their connections before these are cut."""


class Sessions:
    """Connections to servers of tools, opened when a tool is first called, closed together: `async with`.

    The calls of several tasks share one connection per server. After a server has died, hung or forgotten its session,
    the next call opens a new connection. No call is carried out twice.
    """

    def __init__(self) -> None:
        self._current: dict[int, Connection] = {}
        self._opened: list[Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _to_its_end(asyncio.create_task(self._close()))

    async def call(self, server: ToolServer, tool: str, arguments: dict[str, Any]) -> str:
        """The tool's result as text. Raises ToolFailed, also if the server hangs, dies or cannot be started."""
        module = await _loaded()
        try:
            return await self._to(server, module).call(tool, arguments)
        except module.Forgotten:
            return await self._to(server, module).call(tool, arguments)

    async def look(self, server: ToolServer) -> ToolListing:
        """Read which tools the server offers now. Raises ToolFailed."""
        module = await _loaded()
        return look(await self._to(server, module).tools())

    def _to(self, server: ToolServer, module: Any) -> Connection:
        connection = self._current.get(server.pk)
        if connection is None or connection.is_over:
            connection = self._current[server.pk] = module.Connection(server)
            self._opened.append(connection)
        return connection

    async def _close(self) -> None:
        tasks = [connection.task for connection in self._opened]
        for connection in self._opened:
            connection.close()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSING)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def definitions(server: ToolServer) -> ToolListing:
    """Read the tools that a server offers now, usable and refused ones. Raises ToolFailed."""
    async with Sessions() as sessions:
        return await sessions.look(server)


async def _loaded() -> Any:
    """Import the connection module in a thread, as the first import takes most of a second."""
    return await asyncio.to_thread(import_module, "conversations.agents.tools.mcp.connection")


async def _to_its_end(task: asyncio.Task[None]) -> None:
    """Wait for `task` to its end, even if this task is cancelled meanwhile; the cancellation is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
