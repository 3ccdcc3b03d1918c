"""Tool names and arguments in words for people."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.context import tools
from conversations.context.tools import SERVER_SEPARATOR
from conversations.llm.tools import Spec
from conversations.models import ToolCall
from conversations.validation import visible

OWN = {
    tools.CALCULATE.name: gettext_noop("Calculate"),
    tools.CURRENT_TIME.name: gettext_noop("Look at the clock"),
    tools.SEARCH: gettext_noop("Search the history"),
    tools.READ: gettext_noop("Read the history"),
    tools.DELEGATE: gettext_noop("Task for the executor"),
    tools.CONTINUE: gettext_noop("Answer to the executor"),
}
BRIEF_CHARS = 160
"""The most characters of a line of arguments."""


def called(tool: ToolCall | Spec) -> str:
    """A tool's name in words, without the name of its server."""
    if tool.name in OWN:
        return _(OWN[tool.name])
    name = (tool.name.partition(SERVER_SEPARATOR)[2] or tool.name).replace("_", " ")
    return visible(name[:1].upper() + name[1:])


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
    """The JSON object or list in `text`; None for anything else."""
    try:
        return json.loads(text) if text[:1] in "{[" and text else None
    except (ValueError, RecursionError):
        return None
