"""How tools that were called, and what executors do, read on the page."""

from __future__ import annotations

import json

from django import template

from conversations.agents.dispatch import STOPPED
from conversations.context import tools
from conversations.messages import history
from conversations.messages.search_terms import in_a_line
from conversations.models import AgentRun, AgentStep, ToolCall
from conversations.page import agent_view, tool_labels
from conversations.page.agent_view import Working

register = template.Library()
register.filter(tool_labels.called)
register.filter(tool_labels.server)
register.filter(tool_labels.brief)

STATES = {"pending": "waits", "running": "under way", "done": "done", "failed": "failed", "stopped": "stopped"}
RUNS = {
    "running": "at work",
    "waiting": "waits for the planner",
    "done": "done",
    "stopped": "stopped",
    "failed": "failed",
}
STEPS = {
    AgentStep.Kind.ASSIGNMENT: "The task",
    AgentStep.Kind.CLARIFICATION: "The planner answers",
    AgentStep.Kind.PARTIAL: "Partial result, and a question",
    AgentStep.Kind.RESULT: "The result",
}
LONG = 2_000
"""Characters of arguments that a page has from the start."""


@register.filter
def state(call: ToolCall) -> str:
    return "stopped" if call.error == STOPPED else call.status


@register.filter
def how(state: str) -> str:
    """A call's state in words."""
    return STATES.get(state, state)


@register.filter
def how_far(run: AgentRun) -> str:
    return RUNS.get(run.status, run.status)


@register.filter
def turns(run: AgentRun) -> str:
    return f"{run.turns} of {tools.MAX_TASK_TURNS} turns"


@register.filter
def run(call: ToolCall) -> AgentRun | None:
    """The one that is shown in its place."""
    return history.run_at(call)


@register.filter
def working(run: AgentRun) -> Working:
    """All of it: one of a conversation's runs is open at a time, and shown so from the start."""
    return agent_view.run_view(run)


@register.filter
def took(run: AgentRun) -> int | None:
    """Milliseconds."""
    return round((run.finished_at - run.created_at).total_seconds() * 1_000) if run.finished_at else None


@register.filter
def step(row: AgentStep) -> str:
    return STEPS.get(AgentStep.Kind(row.kind), row.kind)


@register.filter
def opening(text: str) -> str:
    """The beginning of what was said, in a line."""
    return in_a_line(text[: 2 * tool_labels.BRIEF_CHARS])


@register.filter
def pretty(text: str) -> str:
    """JSON on lines of its own; anything else as it is."""
    found = tool_labels.parse_arguments(text)
    return json.dumps(found, indent=2, ensure_ascii=False) if isinstance(found, (dict, list)) else text


@register.filter
def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def begins(call: ToolCall) -> str:
    """Of the arguments."""
    return call.arguments[:LONG] if len(call.arguments) > LONG else pretty(call.arguments)


@register.filter
def gave(call: ToolCall) -> str:
    """The beginning of the result."""
    return _opening(call) if is_long(call) else pretty(_opening(call))


@register.filter
def gave_nothing(call: ToolCall) -> bool:
    return _known(call) is None


@register.filter
def is_long(call: ToolCall) -> bool:
    """Whether there is more of it than a page has from the start."""
    return size(call) > len(_opening(call)) + len(call.arguments[:LONG])


@register.filter
def size(call: ToolCall) -> int:
    """Characters of arguments and result."""
    return len(call.arguments) + (call.__dict__.get("length", len(call.__dict__.get("result") or "")) or 0)


def _known(call: ToolCall) -> str | None:
    """What was read of its result, which may be the beginning alone."""
    known: str | None = call.__dict__.get("opening", call.__dict__.get("result"))
    return known


def _opening(call: ToolCall) -> str:
    return (_known(call) or "")[:LONG]
