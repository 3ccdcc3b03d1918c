"""Tool names and arguments in words for people."""

from __future__ import annotations

import json
from typing import Any

from conversations.context import tools
from conversations.context.tools import SERVER_SEPARATOR
from conversations.llm.tools import Spec
from conversations.models import ToolCall
from conversations.validation import visible

OWN = {
    tools.CALCULATE.name: "Calculate",
    tools.CURRENT_TIME.name: "Look at the clock",
    tools.SEARCH: "Search the history",
    tools.READ: "Read the history",
    tools.DELEGATE: "Task for the executor",
    tools.CONTINUE: "Answer to the executor",
}
BRIEF_CHARS = 160
"""The most characters of a line of arguments."""


def called(tool: ToolCall | Spec) -> str:
    """A tool's name in words, without the name of its server."""
    name = (tool.name.partition(SERVER_SEPARATOR)[2] or tool.name).replace("_", " ")
    return OWN.get(tool.name) or visible(name[:1].upper() + name[1:])


def server(tool: ToolCall | Spec) -> str:
    """The name of the tool server that the administrator connected; "" for built-in tools."""
    name, apart, _ = tool.name.partition(SERVER_SEPARATOR)
    return visible(name) if apart else ""


def brief(call: ToolCall) -> str:
    """The arguments in a line, with invisible characters made visible."""
    arguments = parse_arguments(call.arguments)
    if not isinstance(arguments, dict):
        return visible(" ".join(call.arguments[:BRIEF_CHARS].split()))
    values = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in arguments.values()
    ]
    parts = values if len(values) == 1 else [f"{name}: {value}" for name, value in zip(arguments, values, strict=True)]
    line = " ".join(", ".join(value[:BRIEF_CHARS] for value in parts)[: 2 * BRIEF_CHARS].split())
    return visible(line if len(line) <= BRIEF_CHARS else f"{line[:BRIEF_CHARS]}…")


def parse_arguments(text: str) -> Any:
    """The JSON object or list that `text` holds; None for anything else."""
    try:
        return json.loads(text) if text[:1] in "{[" and text else None
    except (ValueError, RecursionError):
        return None
