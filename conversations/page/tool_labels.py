"""Tools in words."""

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
BRIEF = 160
"""Characters of a line."""


def called(tool: ToolCall | Spec) -> str:
    """A tool's name in words, without that of its server."""
    name = (tool.name.partition(SERVER_SEPARATOR)[2] or tool.name).replace("_", " ")
    return OWN.get(tool.name) or visible(name[:1].upper() + name[1:])


def server(tool: ToolCall | Spec) -> str:
    """Of tools that the administrator connected; "" of our own."""
    name, apart, _ = tool.name.partition(SERVER_SEPARATOR)
    return visible(name) if apart else ""


def brief(call: ToolCall) -> str:
    """The arguments in a line, with what hides in them."""
    found = parse_arguments(call.arguments)
    if not isinstance(found, dict):
        return visible(" ".join(call.arguments[:BRIEF].split()))
    values = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in found.values()]
    told = values if len(values) == 1 else [f"{name}: {value}" for name, value in zip(found, values, strict=True)]
    line = " ".join(", ".join(value[:BRIEF] for value in told)[: 2 * BRIEF].split())
    return visible(line if len(line) <= BRIEF else f"{line[:BRIEF]}…")


def parse_arguments(text: str) -> Any:
    """JSON of an object or a list; None for anything else."""
    try:
        return json.loads(text) if text[:1] in "{[" and text else None
    except (ValueError, RecursionError):
        return None
