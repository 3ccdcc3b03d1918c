"""The tools that a model is offered, with their names and schemas; `agents.tools` runs them."""

from __future__ import annotations

import json
from typing import Any

from conversations.llm.tools import Spec, spec
from conversations.models import Conversation, ToolServer

DELEGATE, CONTINUE = "delegate_task", "continue_task"
PLANNERS = (DELEGATE, CONTINUE)
MAX_TASK_TURNS = 10
"""The most turns between planner and executor about one task."""
MAX_TASK_CHARS = 20_000
"""The most characters of one message of the planner to the executor."""
PLANNING = (
    spec(
        DELEGATE,
        "Hand a task to an executor, who has tools and sees nothing of this conversation but what you write. It "
        "answers with a result, or with a partial result and a question.",
        task={"type": "string", "minLength": 1, "maxLength": MAX_TASK_CHARS,
              "description": "All it needs to know: the goal, the facts, what to give back."},
    ),
    spec(
        CONTINUE,
        "Answer the executor's partial result: clarify, or say what to do next. The task stays the same.",
        message={"type": "string", "minLength": 1, "maxLength": MAX_TASK_CHARS},
    ),
)  # fmt: skip

SEARCH, READ = "search_history", "read_history"
HISTORY = (
    spec(
        SEARCH,
        "Find messages of this conversation by any of their words, summarised ones too: numbers, roles and excerpts, "
        "the best first.",
        query={"type": "string", "minLength": 1, "maxLength": 200},
    ),
    spec(
        READ,
        "Read messages of this conversation in full by number, summarised ones too.",
        first={"type": "integer", "minimum": 1, "description": "1 is the oldest."},
        count={"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
        offset={"type": "integer", "minimum": 0, "default": 0, "description": "Characters to skip."},
    ),
)

CURRENT_TIME = spec(
    "current_time",
    "Date, time and day of the week now, in an IANA time zone.",
    timezone={"type": "string", "default": "UTC", "maxLength": 64},
)

MAX_EXPRESSION_CHARS = 1_000
CALCULATE = spec(
    "calculate",
    "An arithmetic expression's exact value: + - * / // % ** (), sqrt, log, sin, min, max, round, pi, e.",
    expression={"type": "string", "minLength": 1, "maxLength": MAX_EXPRESSION_CHARS},
)

Kind = Conversation.Kind
SERVER_SEPARATOR = "__"
"""Stands between the name of a server and that of its tool."""
BUILT_IN = (*HISTORY, CALCULATE, CURRENT_TIME)


def offered_tools(kind: str, *, has_gaps: bool) -> tuple[Spec, ...]:
    """The tools for a model that can call tools, in a conversation that uses them; one query for the tool servers.

    They are equal from request to request, so that a provider's prompt cache hits. A chat's model gets the tools for
    its history once it `has_gaps`: a part is compacted, or results are left out. Until then it sees all of it.
    """
    match kind:
        case Kind.AGENT:
            return (*PLANNING, *HISTORY)
        case Kind.EXECUTOR:
            return (*BUILT_IN, *_of_servers())
        case Kind.CHAT:
            return (*(HISTORY if has_gaps else ()), CALCULATE, CURRENT_TIME, *_of_servers())
    return ()


def _of_servers() -> tuple[Spec, ...]:
    rows = ToolServer.objects.filter(enabled=True).values_list("name", "tools", "allowed")
    return tuple(
        spec_of(server, tool)
        for server, tools, allowed in rows
        for tool in tools
        if tool["name"] in allowed
    )  # fmt: skip


def spec_of(server: str, tool: dict[str, Any]) -> Spec:
    """The definition of a server's tool as models get it, made from the stored one."""
    parameters = tool["parameters"]
    if parameters.get("type") == "object":
        parameters = {"properties": {}} | parameters  # OpenAI refuses a whole request for an object without any
    schema = json.dumps(parameters, sort_keys=True)
    return Spec(f"{server}{SERVER_SEPARATOR}{tool['name']}", tool["description"], schema)


def metric_label(name: str | None) -> str:
    """The label of a tool in metrics; for a server's tool only the server ("mcp:<server>").

    `name` None, for a call of no offered tool, gives "unknown": names that models invent get no series of their own.
    """
    server, apart, _ = (name or "").partition(SERVER_SEPARATOR)
    return f"mcp:{server}" if apart else name or "unknown"
