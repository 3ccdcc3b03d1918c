"""Carries out a tool call: finds the tool by name, checks the arguments, limits time and size."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any, Self
from uuid import UUID

from asgiref.sync import sync_to_async

from conversations.agents.tools import calculator, clock, history
from conversations.agents.tools.mcp.sessions import Sessions
from conversations.context import tools
from conversations.context.tools import SERVER_SEPARATOR
from conversations.llm.providers.text_repair import Storable
from conversations.llm.tools import MAX_RESULT_CHARS, Spec, ToolFailed, ToolRequest
from conversations.models import ToolServer

OWN_TOOL_SECONDS = 10.0
"""Time limit of a built-in tool; a server's tools have the server's limit."""
MAX_QUOTED_CHARS = 300
"""The most characters quoted of a wrong name or of a JSON error."""


class Toolbox:
    """The tools of one turn, to be used by `async with`, which closes the connections that they opened."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._sessions = Sessions()

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._sessions)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def call(self, asked: ToolRequest, *, among: tuple[Spec, ...], about: UUID) -> str:
        """Carry out a call; returns its result as storable text. Raises ToolFailed.

        `among` are the offered tools; `about` is the conversation whose history the tools can read.
        """
        arguments = await asyncio.to_thread(checked, asked, among)
        return _storable(await self._carried_out(asked.name, arguments, about))

    async def _carried_out(self, name: str, arguments: dict[str, Any], about: UUID) -> str:
        server, apart, tool = name.partition(SERVER_SEPARATOR)
        if apart:
            row = await ToolServer.objects.filter(name=server, enabled=True).afirst()
            if row is None or tool not in row.allowed:
                raise ToolFailed(f"{name} is not offered any more.")
            return await self._sessions.call(row, tool, arguments)
        try:
            async with asyncio.timeout(OWN_TOOL_SECONDS):
                return await _own(name, {key: _as_integer(value) for key, value in arguments.items()}, about)
        except TimeoutError:
            raise ToolFailed(f"{name} took longer than {OWN_TOOL_SECONDS:.0f} s.") from None


def checked(asked: ToolRequest, among: tuple[Spec, ...]) -> dict[str, Any]:
    """Parse and check the arguments of an offered tool's call. Raises ToolFailed, naming the fault."""
    spec = next((one for one in among if one.name == asked.name), None)
    if spec is None:
        names = ", ".join(one.name for one in among) or "none"
        raise ToolFailed(f"There is no tool called {asked.name[:MAX_QUOTED_CHARS]!r}. Those that there are: {names}.")
    try:
        arguments = _as_stored(json.loads(asked.arguments or "{}"))
    except (ValueError, RecursionError) as error:
        raise ToolFailed(f"The arguments are not JSON: {str(error)[:MAX_QUOTED_CHARS]}.") from None
    if not isinstance(arguments, dict):
        raise ToolFailed("The arguments are no JSON object.")
    from conversations.agents.tools.arguments import require_valid

    require_valid(asked.name, arguments, json.loads(spec.parameters), is_ours=SERVER_SEPARATOR not in spec.name)
    return arguments


async def _own(name: str, arguments: dict[str, Any], about: UUID) -> str:
    match name:
        case tools.SEARCH:
            return await sync_to_async(history.search_history)(about, **arguments)
        case tools.READ:
            return await sync_to_async(history.read_history)(about, **arguments)
        case tools.CALCULATE.name:
            return await asyncio.to_thread(calculator.calculate, **arguments)
        case tools.CURRENT_TIME.name:
            return clock.current_time(**arguments)
    raise ToolFailed(f"{name} cannot be called here.")


def _as_integer(value: Any) -> Any:
    """Turn 1.0 into 1: it is an integer by JSON schema, and some models write it so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_stored(value: Any) -> Any:
    """A JSON value without the characters that stored text may not hold, which JSON escapes can contain."""
    match value:
        case str():
            return Storable().take(value)
        case list():
            return [_as_stored(item) for item in value]
        case dict():
            return {Storable().take(key): _as_stored(item) for key, item in value.items()}
    return value


def _storable(result: str) -> str:
    kept = Storable().take(result[:MAX_RESULT_CHARS])
    if len(result) <= MAX_RESULT_CHARS:
        return kept
    return f"{kept}\n[Cut: the tool gave {len(result):,} characters; the first {MAX_RESULT_CHARS:,} are kept.]"
