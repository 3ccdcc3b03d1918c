"""Repairs the answers of servers that keep to the protocol in part, so that one odd tool or block spoils no others.

The `mcp` package refuses the whole of an answer with a tool without a schema, or with a block that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp_types import CallToolResult, ListToolsResult
from pydantic import ValidationError

Json = dict[str, Any]

OF_CALLS = ("content", "structuredContent", "toolResult", "isError")
"""Fields of the result of a call; `toolResult` is that of the protocol's first version."""
UNREADABLE = {"type": "object", "minProperties": "unreadable"}
"""A schema that is not valid, in place of one that is no object: the tool is refused, and the page says why."""


@asynccontextmanager
async def lenient(transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    """The streams of a transport, with the server's answers repaired."""
    async with transport as (heard, *others):
        yield _Repaired(heard), *others


class _Repaired:
    """The stream of a server's messages, each repaired as it is received."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Repaired:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *fault: Any) -> Any:
        return await self._stream.__aexit__(*fault)

    def __aiter__(self) -> _Repaired:
        return self

    async def __anext__(self) -> Any:
        return _with_repaired_result(await anext(self._stream))

    async def receive(self) -> Any:
        return _with_repaired_result(await self._stream.receive())


def _with_repaired_result(message: Any) -> Any:
    inner: Any = getattr(message, "message", None)
    if isinstance(result := getattr(inner, "result", None), dict):
        inner.result = repaired(result)
    return message


def repaired(result: Json) -> Json:
    """The result of a list of tools or of a call, in a form that the protocol knows; any other result is unchanged."""
    if isinstance(result.get("tools"), list):
        tools = [one for tool in result["tools"] if (one := _tool(tool))]
        cursor = result.get("nextCursor")
        return result | {"tools": tools, "nextCursor": cursor if isinstance(cursor, str) and cursor else None}
    if result and not any(name in result for name in OF_CALLS):
        return result
    given = result.get("content", result.get("toolResult"))
    blocks = given if isinstance(given, list) else [] if given is None else [given]
    found = {"content": [block for one in blocks for block in _blocks(one)], "isError": result.get("isError") is True}
    if not isinstance(result.get("structuredContent"), dict | None):
        found["structuredContent"] = None
    return result | found


def _tool(raw: Any) -> Json | None:
    """A tool that the protocol knows: with an object as its schema, and without other fields if one of them is odd."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return None
    schema = raw.get("inputSchema") or {"properties": {}}
    if isinstance(schema, dict) and "type" not in schema:
        schema = {"type": "object"} | schema
    tool = raw | {"inputSchema": schema}
    if _is_valid(ListToolsResult, {"tools": [tool]}):
        return tool
    description = raw.get("description") if isinstance(raw.get("description"), str) else ""
    bare = {"name": raw["name"], "description": description, "inputSchema": schema}
    return bare if _is_valid(ListToolsResult, {"tools": [bare]}) else bare | {"inputSchema": UNREADABLE}


def _blocks(raw: Any) -> list[Json]:
    """A block that the protocol knows, or its text."""
    if isinstance(raw, dict) and _is_valid(CallToolResult, {"content": [raw]}):
        return [raw]
    text = raw.get("text") if isinstance(raw, dict) and "text" in raw else raw
    if text is None:
        return []
    return [{"type": "text", "text": text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}]


def _is_valid(kind: Any, value: Json) -> bool:
    try:
        kind.model_validate(value, by_name=False)
    except ValidationError:
        return False
    return True
