"""What changes on an open page while tools and executors are at work: small fragments, by the ids of calls and steps.

An executor's steps are not sent again with its run: the page keeps those that it shows, and puts a step that it knows
in the place of what it knew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html

from compression.core.values import FlowUsage
from compression.models import Compaction
from conversations.messages import history
from conversations.models import AgentRun, Conversation, ToolCall
from conversations.page import agent_view
from conversations.page.agent_view import Fold, Step
from conversations.page.meter import Meter

PLANNER, EXECUTOR = Compaction.Flow.PLANNER.value, Compaction.Flow.EXECUTOR.value


def called(conversation: Conversation, data: dict[str, Any]) -> str:
    """A call began, or ended."""
    rows = history.visible_calls().filter(message=data["message_id"], message__conversation=conversation)
    call = rows.select_related("message").filter(call_id=data["call"]["id"]).first()
    return (_call(call) if call and _is_shown(conversation, call) else "") + waiting(conversation)


def ran(conversation: Conversation, data: dict[str, Any]) -> str:
    """A run began, ended, or its executor has compressed its history, or is at it."""
    run = AgentRun.objects.filter(conversation=conversation, pk=data["run"]["id"]).first()
    if run is None:
        return ""
    *_, fold = [None, *agent_view.folds_of(run)]
    html = _run(conversation, run, [Fold(fold)] if fold else [])
    return html if run.is_open else html + _took(run)


def stepped(conversation: Conversation, data: dict[str, Any]) -> str:
    """A step is new, or one of its calls has changed."""
    run = AgentRun.objects.filter(conversation=conversation, pk=data["run_id"]).first()
    if run is None:
        return ""
    return _run(conversation, run, [Step(row) for row in agent_view.steps_of(run, number=data["step"]["number"])])


def waiting(conversation: Conversation) -> str:
    """What the pending reply waits for."""
    words = agent_view.waited_for(conversation)
    return format_html('<div hx-swap-oob="innerHTML:.message[aria-busy] .waits">{}</div>', words)


def flows(conversation: Conversation, meter: Meter | None, *, oob: bool = True) -> str:
    """How much planner and executor use of their own budgets; "" for a chat."""
    if conversation.kind != Conversation.Kind.AGENT:
        return ""
    run = agent_view.last_run(conversation)
    return _flow(PLANNER, meter.flow if meter else None, oob) + _flow(
        EXECUTOR, agent_view.used_by(run) if run else None, oob
    )


def _run(conversation: Conversation, run: AgentRun, entries: Iterable[Step | Fold]) -> str:
    call = agent_view.shown_at(run)
    put = render_to_string("conversations/_steps_put.html", {"run": run, "entries": entries})
    html = _call(call) + put if call and _is_shown(conversation, call) else ""
    return html + _flow(EXECUTOR, agent_view.used_by(run), True) + waiting(conversation)


def _is_shown(conversation: Conversation, call: ToolCall) -> bool:
    """Of one that is folded, a page has nothing that could be another by now."""
    return history.state_of(conversation, call.message) in ("live", "protected")


def _took(run: AgentRun) -> str:
    return render_to_string("conversations/_took.html", {"working": agent_view.run_view(run), "oob": True})


def _call(call: ToolCall) -> str:
    context = {"call": call, "message": call.message, "oob": True}
    return render_to_string("conversations/_call.html", context)


def _flow(flow: str, used: FlowUsage | None, oob: bool) -> str:
    return render_to_string("conversations/_flow.html", {"flow": flow, "used": used, "oob": oob})
