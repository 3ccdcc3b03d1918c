"""Tools in words."""

from __future__ import annotations

from conversations.agents.tools import calculator, clock, history, planning
from conversations.agents.tools.catalogue import APART
from conversations.agents.tools.spec import Spec
from conversations.controls import visible
from conversations.models import ToolCall

OWN = {
    calculator.SPEC.name: "Calculate",
    clock.SPEC.name: "Look at the clock",
    history.SEARCH: "Search the history",
    history.READ: "Read the history",
    planning.DELEGATE: "Task for the executor",
    planning.CONTINUE: "Answer to the executor",
}


def called(tool: ToolCall | Spec) -> str:
    """A tool's name in words, without that of its server."""
    name = (tool.name.partition(APART)[2] or tool.name).replace("_", " ")
    return OWN.get(tool.name) or visible(name[:1].upper() + name[1:])


def server(tool: ToolCall | Spec) -> str:
    """Of tools that the administrator connected; "" of our own."""
    name, apart, _ = tool.name.partition(APART)
    return visible(name) if apart else ""
