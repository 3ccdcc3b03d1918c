"""Checks a server's tool definitions: which tools models may be offered, and why others are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from conversations.llm.providers.text_repair import Storable

MAX_NAME_CHARS = 128
"""The most characters of a tool's name, as the protocol has it. Providers get a longer full name shortened."""
MAX_DESCRIPTION_CHARS = 1_000
MAX_SCHEMA_CHARS = 16_000
"""The most characters of a tool's parameters as JSON."""
MAX_TOOLS = 100
NAME = re.compile(r"[a-zA-Z0-9_./-]+", re.ASCII)


class Tool(Protocol):
    """A tool definition of the `mcp` package."""

    name: str
    description: str | None
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolListing:
    """A server's usable `tools`, as {name, description, parameters}; `refused`: names of the others -> reasons."""

    tools: list[dict[str, Any]]
    refused: dict[str, str]


def look(tools: Iterable[Tool]) -> ToolListing:
    """Sort a server's tools into usable and refused ones; descriptions are cut to MAX_DESCRIPTION_CHARS."""
    kept: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    for tool in tools:
        name = _storable(tool.name)
        if reason := _refusal(tool) or ("the server offers it twice" if name in kept else ""):
            refused[name[:MAX_NAME_CHARS]] = reason
        elif len(kept) == MAX_TOOLS:
            refused[name] = f"a server's first {MAX_TOOLS} are kept"
        else:
            kept[name] = {"name": name, "description": _description(tool), "parameters": tool.input_schema}
    return ToolListing(list(kept.values()), refused)


def changed(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> set[str]:
    """The names of the tools that still exist, but whose definition has changed."""
    known_tools = {tool["name"]: tool for tool in before}
    return {tool["name"] for tool in now if tool["name"] in known_tools and tool != known_tools[tool["name"]]}


def _refusal(tool: Tool) -> str:
    """Why a tool cannot be offered; "" if it can."""
    if not NAME.fullmatch(tool.name):
        return "its name has characters other than letters, digits, -, _, . and /"
    if len(tool.name) > MAX_NAME_CHARS:
        return f"its name is longer than {MAX_NAME_CHARS} characters"
    return _refusal_of_schema(tool.input_schema)


def _refusal_of_schema(schema: dict[str, Any]) -> str:
    # Imported on first use: it takes 8 MB, and is only needed to inspect a server.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        text = json.dumps(schema, ensure_ascii=False)
        if len(text) > MAX_SCHEMA_CHARS:
            return f"its parameters take more than {MAX_SCHEMA_CHARS:,} characters"
        if schema.get("type") != "object":
            return "its parameters are no JSON object"
        Draft202012Validator.check_schema(schema)
    except (SchemaError, ValueError, RecursionError):
        return "its parameters are no valid JSON schema"
    if _storable(text) != text or "\\u0000" in text:
        return "its parameters have signs that cannot be stored"
    return ""


def _description(tool: Tool) -> str:
    text = _storable(tool.description or "").strip()
    return text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1] + "…"


def _storable(text: str) -> str:
    return Storable().take(text)
