"""HTML fragments that update an open page while tools and executors work, addressed by the ids of calls and steps.

A run's fragment does not repeat its earlier steps. The page keeps them, and replaces a step when it receives that step
again.
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
from conversations.page.agent_view import CompactionEntry, Step
from conversations.page.meter import Meter

PLANNER, EXECUTOR = Compaction.Flow.PLANNER.value, Compaction.Flow.EXECUTOR.value


def called(conversation: Conversation, data: dict[str, Any]) -> str:
    """The fragments for a tool call that began or ended."""
    rows = history.visible_calls().filter(message=data["message_id"], message__conversation=conversation)
    call = rows.select_related("message").filter(call_id=data["call"]["id"]).first()
    return (_call_fragment(call) if call and _is_shown(conversation, call) else "") + waiting(conversation)


def ran(conversation: Conversation, data: dict[str, Any]) -> str:
    """The fragments for a run that began or ended, or whose executor compacts its history."""
    run = AgentRun.objects.filter(conversation=conversation, pk=data["run"]["id"]).first()
    if run is None:
        return ""
    *_, compaction = [None, *agent_view.compactions_of(run)]
    html = _run_fragment(conversation, run, [CompactionEntry(compaction)] if compaction else [])
    return html if run.is_open else html + _duration_fragment(run)


def stepped(conversation: Conversation, data: dict[str, Any]) -> str:
    """The fragments for a new step, or for a step with a changed call."""
    run = AgentRun.objects.filter(conversation=conversation, pk=data["run_id"]).first()
    if run is None:
        return ""
    return _run_fragment(
        conversation, run, [Step(row) for row in agent_view.steps_of(run, number=data["step"]["number"])]
    )


def waiting(conversation: Conversation) -> str:
    """The fragment that names the work for which the pending reply waits."""
    words = agent_view.waited_for(conversation)
    return format_html('<div hx-swap-oob="innerHTML:.message[aria-busy] .waits">{}</div>', words)


def flows(conversation: Conversation, meter: Meter | None, *, oob: bool = True) -> str:
    """Two fragments, the planner's and the executor's use of their own budgets; "" for a chat."""
    if conversation.kind != Conversation.Kind.AGENT:
        return ""
    run = agent_view.last_run(conversation)
    return _flow_fragment(PLANNER, meter.flow if meter else None, oob) + _flow_fragment(
        EXECUTOR, agent_view.used_by(run) if run else None, oob
    )


def _run_fragment(conversation: Conversation, run: AgentRun, entries: Iterable[Step | CompactionEntry]) -> str:
    call = agent_view.shown_at(run)
    put = render_to_string("conversations/agents/_steps_put.html", {"run": run, "entries": entries})
    html = _call_fragment(call) + put if call and _is_shown(conversation, call) else ""
    return html + _flow_fragment(EXECUTOR, agent_view.used_by(run), True) + waiting(conversation)


def _is_shown(conversation: Conversation, call: ToolCall) -> bool:
    """Whether the page shows the call's message in full. A compacted message has no part that could be out of date."""
    return history.state_of(conversation, call.message) in ("live", "protected")


def _duration_fragment(run: AgentRun) -> str:
    return render_to_string("conversations/agents/_took.html", {"working": agent_view.run_view(run), "oob": True})


def _call_fragment(call: ToolCall) -> str:
    context = {"call": call, "message": call.message, "oob": True}
    return render_to_string("conversations/agents/_call.html", context)


def _flow_fragment(flow: str, used: FlowUsage | None, oob: bool) -> str:
    return render_to_string("conversations/agents/_flow.html", {"flow": flow, "used": used, "oob": oob})
