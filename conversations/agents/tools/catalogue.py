"""Which tools a model is offered."""

from __future__ import annotations

import json
from typing import Any

from conversations.agents.tools import calculator, clock, history, planning
from conversations.llm.tools import Spec
from conversations.models import Conversation, ToolServer

Kind = Conversation.Kind
APART = "__"
"""Between the name of a server and that of its tool."""
BUILT_IN = (*history.SPECS, calculator.SPEC, clock.SPEC)


def offered(kind: str, *, is_compressed: bool) -> tuple[Spec, ...]:
    """To a model that can call tools, in a conversation that uses them; a query for the administrator's servers.

    The same from request to request, so that a provider's prompt cache hits. A chat is offered its history once a part
    of it is compressed: until then the model sees all of it.
    """
    match kind:
        case Kind.AGENT:
            return (*planning.SPECS, *history.SPECS)
        case Kind.EXECUTOR:
            return (*BUILT_IN, *_of_servers())
        case Kind.CHAT:
            return (*(history.SPECS if is_compressed else ()), calculator.SPEC, clock.SPEC, *_of_servers())
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
    """A server's tool, by its stored definition, as models are told of it."""
    schema = json.dumps(tool["parameters"], sort_keys=True)
    return Spec(f"{server}{APART}{tool['name']}", tool["description"], schema)
