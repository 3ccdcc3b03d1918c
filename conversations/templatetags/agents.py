"""Template filters that show tool calls, executor runs and their steps."""

from __future__ import annotations

import json

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.agents.dispatch import STOPPED
from conversations.context import tools
from conversations.messages import history
from conversations.messages.search_terms import in_a_line
from conversations.messages.text_files import without_escapes
from conversations.models import AgentRun, AgentStep, ToolCall
from conversations.page import agent_view, tool_labels
from conversations.page.agent_view import RunView

register = template.Library()
register.filter(tool_labels.called)
register.filter(tool_labels.server)
register.filter(tool_labels.brief)

STATES = {
    "pending": gettext_noop("waits"),
    "running": gettext_noop("under way"),
    "done": gettext_noop("done"),
    "failed": gettext_noop("failed"),
    "stopped": gettext_noop("stopped"),
}
RUNS = {
    "running": gettext_noop("at work"),
    "waiting": gettext_noop("waits for the planner"),
    "done": gettext_noop("done"),
    "stopped": gettext_noop("stopped"),
    "failed": gettext_noop("failed"),
}
STEPS = {
    AgentStep.Kind.ASSIGNMENT: gettext_noop("The task"),
    AgentStep.Kind.CLARIFICATION: gettext_noop("The planner answers"),
    AgentStep.Kind.PARTIAL: gettext_noop("Partial result, and a question"),
    AgentStep.Kind.RESULT: gettext_noop("The result"),
}
MAX_OPENING_CHARS = 2_000
"""The most characters of arguments, and of a result, in the page before a call is opened."""


@register.filter
def state(call: ToolCall) -> str:
    """The call's status; a call that a person stopped is "stopped", not "failed"."""
    return "stopped" if call.error == STOPPED else call.status


@register.filter
def how(state: str) -> str:
    """A call's state in words."""
    return _(STATES.get(state, state))


@register.filter
def how_far(run: AgentRun) -> str:
    return _(RUNS.get(run.status, run.status))


@register.filter
def turns(run: AgentRun) -> str:
    return _("%(turns)s of %(most)s turns") % {"turns": run.turns, "most": tools.MAX_TASK_TURNS}


@register.filter
def run(call: ToolCall) -> AgentRun | None:
    """The executor run shown in the call's place, if any."""
    return history.run_at(call)


@register.filter
def working(run: AgentRun) -> RunView:
    """The run with all its steps. A conversation has at most one open run, which a page shows in full."""
    return agent_view.run_view(run)


@register.filter
def took(run: AgentRun) -> int | None:
    """The run's duration in milliseconds; None while it is open."""
    return round((run.finished_at - run.created_at).total_seconds() * 1_000) if run.finished_at else None


@register.filter
def step(row: AgentStep) -> str:
    return _(STEPS.get(AgentStep.Kind(row.kind), row.kind))


@register.filter
def opening(text: str) -> str:
    """The beginning of a text, in a line."""
    return in_a_line(text[: 2 * tool_labels.BRIEF_CHARS])


@register.filter
def pretty(text: str) -> str:
    """A JSON object or list indented over several lines; any other text without the codes of a terminal."""
    value = tool_labels.parse_arguments(text)
    is_json = isinstance(value, (dict, list))
    return json.dumps(value, indent=2, ensure_ascii=False) if is_json else without_escapes(text)


@register.filter
def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def begins(call: ToolCall) -> str:
    """The beginning of the call's arguments."""
    return call.arguments[:MAX_OPENING_CHARS] if len(call.arguments) > MAX_OPENING_CHARS else pretty(call.arguments)


@register.filter
def gave(call: ToolCall) -> str:
    """The beginning of the call's result."""
    return without_escapes(_result_opening(call)) if is_long(call) else pretty(_result_opening(call))


@register.filter
def gave_nothing(call: ToolCall) -> bool:
    return _loaded_result(call) is None


@register.filter
def is_long(call: ToolCall) -> bool:
    """Whether the call is longer than the part that the page has before it is opened."""
    return size(call) > len(_result_opening(call)) + len(call.arguments[:MAX_OPENING_CHARS])


@register.filter
def size(call: ToolCall) -> int:
    """The number of characters of the call's arguments and result."""
    return len(call.arguments) + (call.__dict__.get("length", len(call.__dict__.get("result") or "")) or 0)


def _loaded_result(call: ToolCall) -> str | None:
    """The call's result as far as it was read from the database, perhaps only its beginning; None without a result."""
    known: str | None = call.__dict__.get("opening", call.__dict__.get("result"))
    return known


def _result_opening(call: ToolCall) -> str:
    return (_loaded_result(call) or "")[:MAX_OPENING_CHARS]
