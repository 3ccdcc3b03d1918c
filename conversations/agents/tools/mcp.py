"""Servers of tools that the administrator set up, by the Model Context Protocol."""

from __future__ import annotations

from typing import Any, Self

from conversations.agents.tools.spec import ToolFailed
from conversations.models import ToolServer


class Sessions:
    """Connections to servers of tools, opened when a tool is first called, closed together: `async with`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def call(self, server: ToolServer, tool: str, arguments: dict[str, Any]) -> str:
        """The tool's result as text. Raises ToolFailed, also where the server hangs, dies or cannot be started."""
        raise ToolFailed("not there yet")


async def definitions(server: ToolServer) -> list[dict[str, Any]]:
    """What the server offers now: [{name, description, parameters}]. Raises ToolFailed."""
    raise ToolFailed("not there yet")
