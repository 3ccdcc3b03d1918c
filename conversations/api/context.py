"""Shows the next request; compacts, lists compactions, and goes back to earlier states."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404
from ninja import Query, Router

from compression.core.values import Steering, Window
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.access import (
    TO_READ,
    disposable_conversation,
    get_conversation,
    own_conversations,
    writable_conversation,
)
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.api.parsing import require_body_if_declared
from conversations.api.schemas import compactions as run
from conversations.api.schemas import context as schema
from conversations.api.schemas.fields import described
from conversations.compaction import cancel as cancelling
from conversations.compaction import compaction
from conversations.compaction import edit_summary as summaries
from conversations.compaction import snapshots as states
from conversations.compaction.progress import elapsed_seconds, eta_seconds
from conversations.compaction.trigger import compacts_at
from conversations.context import transcript
from conversations.context.economy import break_even_turns
from conversations.context.policy import compactions_of_all_flows, policy_of
from conversations.errors import Invalid
from conversations.exchange.exports import checkpoint_json
from conversations.memory.citations import citations_of, unsupported_in_force
from conversations.memory.facts_kept import facts_kept, facts_kept_of
from conversations.models import Conversation
from conversations.requests import next_request, usage
from conversations.runtime.payloads import compaction_json, due_json, usage_json

router = Router(tags=["context"])

Flow = Annotated[
    Literal["chat", "planner", "executor"] | None,
    Query(description="Only of a chat, or of an agent's planner, or of its executors."),
]


@router.get(
    "/conversations/{uuid:conversation_id}/context",
    operation_id="context_read",
    response=described(schema.Context),
    summary="Preview the next request",
)
def read_context(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Exactly what the next request would send, with the passages that are recalled for the latest question."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    context = next_request.preview(conversation)
    loaded = transcript.load(conversation.pk)
    due = compacts_at(loaded, context.usage) if context.usage else None
    breaks_even = break_even_turns(loaded.head, policy_of(loaded.head), due=due.tokens) if due else None
    checkpoints = Checkpoint.objects.filter(conversation=conversation, active=True)
    facts, unsupported = facts_kept(conversation), unsupported_in_force(conversation)
    return {
        "messages": context.messages,
        "usage": usage_json(context.usage) if context.usage else None,
        "breaks_even_turns": breaks_even,
        "compacts_at": due_json(due, context.usage) if context.usage and due else None,
        "compressed_at": conversation.compressed_at and conversation.compressed_at.isoformat(),
        "undone_at": conversation.undone_at and conversation.undone_at.isoformat(),
        "checkpoints": [checkpoint_json(row, conversation.window) for row in checkpoints],
        "facts": {"found": facts.found, "at_first": facts.at_first, "now": facts.now},
        "unsupported": unsupported,
    }


@router.post(
    "/context/{uuid:conversation_id}/compact",
    operation_id="context_compact",
    response={202: described(run.Task)},
    summary="Compact a conversation",
    openapi_extra=refuses(402, 409),
)
def compact_conversation(
    request: Request, conversation_id: UUID, body: run.CompactRequest | None = None
) -> dict[str, Any]:
    """Starts a compaction in the background and answers with its task.

    While one runs, another is 409 with its id in the detail.
    """
    conversation = writable_conversation(request.auth, conversation_id)
    require_body_if_declared(request)
    asked = body or run.CompactRequest()
    if asked.up_to and not conversation.messages.filter(pk=asked.up_to).exists():
        raise Invalid("up_to: there is no such message in this conversation.", field="up_to")
    steering = Steering(
        instructions=asked.instructions,
        prompt=asked.prompt,
        keep_recent=asked.keep_recent,
        up_to=str(asked.up_to) if asked.up_to else None,
        quality=asked.quality,
    )
    row = compaction.request(conversation, trigger=Compaction.Trigger.API, steering=steering)
    return {"task_id": str(row.pk)}


@router.get(
    "/tasks/{uuid:task_id}/progress",
    operation_id="context_progress",
    response=described(run.Progress),
    summary="Follow a compaction",
)
def read_progress(request: Request, task_id: UUID) -> dict[str, Any]:
    """How far a compaction is: `result` once it has one, `error` if it failed or had nothing to do."""
    return _progress_json(_task(request, task_id))


@router.delete(
    "/tasks/{uuid:task_id}",
    operation_id="context_cancel",
    response=described(run.Progress),
    summary="Cancel a compaction",
    openapi_extra=refuses(409),
)
def cancel_compaction(request: Request, task_id: UUID) -> dict[str, Any]:
    """The conversation stays as it was. Tokens that were spent so far are in the compaction's figures.

    A compaction that has ended is 409 `compaction_over`.
    """
    row = _task(request, task_id)
    cancelling.cancel(row)
    return _progress_json(row)


def _task(request: Request, task_id: UUID) -> Compaction:
    rows = Compaction.objects.filter(pk=task_id, conversation__in=own_conversations(request.auth, kinds=TO_READ))
    row = rows.first()
    if row is None:
        raise Http404("No such task.")
    return row


def _progress_json(row: Compaction) -> dict[str, Any]:
    counted = facts_kept_of(row.conversation, [row]).get(row.pk)
    cited = citations_of([row]).get(row.pk)
    entry = compaction_json(row, facts_now=counted.now if counted else None, citations=cited)
    has_result = row.status in (Compaction.Status.SUCCEEDED, Compaction.Status.UNDONE)
    return {
        "status": row.status,
        "stage": row.stage,
        "percent": row.percent,
        "parts": row.parts,
        "parts_done": row.parts_done,
        "elapsed_seconds": elapsed_seconds(row),
        "eta_seconds": eta_seconds(row),
        "result": entry if has_result else None,
        "error": entry["error"],
    }


@router.get(
    "/context/{uuid:conversation_id}/compactions",
    operation_id="context_compactions",
    response=described(run.CompactionPage),
    summary="List compactions",
)
def list_compactions(
    request: Request, conversation_id: UUID, flow: Flow = None, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    """All compactions, also those that failed or had nothing to do, and those of an agent's executors."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    rows = compactions_of_all_flows(conversation)
    if flow:
        rows = rows.filter(flow=flow)
    page = newest_first(rows, lambda row: {"row": row}, by="created_at", cursor=cursor, limit=limit)
    listed = [item["row"] for item in page["items"]]
    counted = facts_kept_of(conversation, listed)
    now = {pk: facts.now for pk, facts in counted.items()}
    cited = citations_of(listed)
    items = [compaction_json(row, facts_now=now.get(row.pk), citations=cited.get(row.pk)) for row in listed]
    return page | {"items": items}


@router.get(
    "/context/{uuid:conversation_id}/snapshots",
    operation_id="context_snapshots",
    response=described(schema.SnapshotPage),
    summary="List snapshots",
)
def list_snapshots(request: Request, conversation_id: UUID, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """The earlier states that can be restored."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    rows = Snapshot.objects.filter(conversation=conversation)
    as_json = partial(_snapshot_json, window=conversation.window)
    return newest_first(rows, as_json, by="created_at", cursor=cursor, limit=limit)


@router.post(
    "/context/{uuid:conversation_id}/snapshots",
    operation_id="context_take_snapshot",
    response={201: described(schema.Snapshot)},
    summary="Take a snapshot",
    openapi_extra=refuses(409),
)
def take_snapshot(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Stores the present state, which can be restored later."""
    conversation = writable_conversation(request.auth, conversation_id)
    return _snapshot_json(states.take_snapshot(conversation), conversation.window)


@router.post(
    "/context/{uuid:conversation_id}/clear",
    operation_id="context_clear",
    response=described(schema.State),
    summary="Undo all compactions",
    openapi_extra=refuses(409),
)
def clear_context(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """The whole history is sent again. A recovery snapshot keeps the state from before."""
    conversation = writable_conversation(request.auth, conversation_id)
    states.clear(conversation)
    return _state_json(conversation)


@router.put(
    "/context/{uuid:conversation_id}/checkpoints/{int:number}",
    operation_id="context_edit_summary",
    response=described(schema.Checkpoint),
    summary="Edit a summary",
    openapi_extra=refuses(409),
)
def edit_summary(request: Request, conversation_id: UUID, number: int, body: schema.SummaryText) -> dict[str, Any]:
    """Replaces the words of a summary. The edited summary is a checkpoint of its own; the earlier one is kept."""
    conversation = writable_conversation(request.auth, conversation_id)
    return checkpoint_json(summaries.edit(conversation, number=number, text=body.summary), conversation.window)


@router.post(
    "/context/{uuid:conversation_id}/rollback",
    operation_id="context_rollback",
    response=described(schema.Restored),
    summary="Go back to an earlier state",
    openapi_extra=refuses(409),
)
def roll_back(request: Request, conversation_id: UUID, body: schema.RollbackRequest | None = None) -> dict[str, Any]:
    """Restores a snapshot, or the state before the last compaction. Messages that were written since stay."""
    conversation = disposable_conversation(request.auth, conversation_id)
    require_body_if_declared(request)
    restored = compaction.rollback(conversation, snapshot_id=body.snapshot_id if body else None)
    return {"snapshot": _snapshot_json(restored, conversation.window)} | _state_json(conversation)


def _state_json(conversation: Conversation) -> dict[str, Any]:
    used = usage.usage_of_conversation(conversation)
    return {
        "compressed_at": conversation.compressed_at and conversation.compressed_at.isoformat(),
        "compression_version": conversation.compression_version,
        "usage": usage_json(used) if used else None,
    }


def _snapshot_json(snapshot: Snapshot, window: Window) -> dict[str, Any]:
    return {
        "id": str(snapshot.pk),
        "purpose": snapshot.purpose,
        "compaction_id": str(snapshot.compaction_id) if snapshot.compaction_id else None,
        "compressed_at": snapshot.compressed_at and snapshot.compressed_at.isoformat(),
        "summary_tokens": window.corrected(snapshot.compressed_tokens),
        "checkpoints": len(snapshot.checkpoint_ids),
        "created_at": snapshot.created_at.isoformat(),
    }
