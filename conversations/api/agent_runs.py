"""/api/conversations/{id}/runs: the tasks that an agent's planner handed to executors, and what came of each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from ninja import Router

from compression.models import Compaction
from conversations.access import TO_READ, get_conversation
from conversations.api.auth import Request
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.api.schemas import runs as schema
from conversations.api.schemas.fields import described
from conversations.context import transcript
from conversations.models import AgentRun
from conversations.requests import usage
from conversations.runtime.payloads import compaction_json, flow_json, run_json, step_json

router = Router(tags=["agents"])

MAX_COMPACTIONS = 200
"""The most compactions that are listed with one run."""


@router.get(
    "/{uuid:conversation_id}/runs",
    response=described(schema.RunPage),
    summary="List runs of an agent",
    operation_id="runs_list_all",
)
def list_runs(request: Request, conversation_id: UUID, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """The tasks that an agent gave to its executors. A chat has none."""
    rows = AgentRun.objects.filter(conversation=get_conversation(request.auth, conversation_id, kinds=TO_READ))
    return newest_first(rows, run_json, by="created_at", cursor=cursor, limit=limit)


@router.get(
    "/{uuid:conversation_id}/runs/{uuid:run_id}",
    response=described(schema.WholeRun),
    summary="Read a run of an agent",
    operation_id="runs_read",
)
def read_run(request: Request, conversation_id: UUID, run_id: UUID) -> dict[str, Any]:
    """The messages of planner and executor, their tool calls, and how much of the budget is used."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    run = get_object_or_404(AgentRun, conversation=conversation, pk=run_id)
    used = usage.flow_usage(transcript.load(run.thread_id))
    steps = run.steps.select_related("message").prefetch_related("message__tool_calls")
    compactions = Compaction.objects.filter(conversation=run.thread_id).order_by("-created_at", "-id")[:MAX_COMPACTIONS]
    return run_json(run) | {
        "steps": [step_json(step, conversation.window) for step in steps],
        "usage": flow_json(used) if used else None,
        "compactions": [compaction_json(row) for row in compactions],
    }
