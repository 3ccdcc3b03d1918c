"""What the model sees, and what is done to it: compaction, its log, and the way back."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404
from ninja import Router
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from conversations import compaction, prompt, states, summaries, usage
from conversations.access import get_conversation, own_conversations
from conversations.api.auth import Request
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.api.parsing import require_body_if_declared
from conversations.errors import Invalid
from conversations.exchange.exports import checkpoint_json
from conversations.models import Conversation
from conversations.shapes import compaction_json, usage_json
from conversations.validation import clean_prompt, clean_text

router = Router(tags=["context"])

MAX_INSTRUCTIONS = 2_000

Id = Annotated[UUID, Field(strict=False)]
Instructions = Annotated[
    str, AfterValidator(partial(clean_text, "instructions", limit=MAX_INSTRUCTIONS, allow_blank=True))
]
Prompt = Annotated[str, AfterValidator(partial(clean_prompt, "prompt"))]


class CompactRequest(BaseModel):
    """`prompt`: a template in place of the usual one, with the same headings; `$preserve`, `$detail` and `$words` are
    filled in. `up_to`: the last message to condense; `keep_recent`: how many of the latest to leave."""

    model_config = ConfigDict(extra="forbid", strict=True)

    quality: Literal["fast", "standard"] = "fast"
    instructions: Instructions = ""
    prompt: Prompt = ""
    keep_recent: Annotated[int, Field(ge=0, le=100)] | None = None
    up_to: Id | None = None


class RollbackRequest(BaseModel):
    """Without a snapshot, the last compaction is undone."""

    model_config = ConfigDict(extra="forbid", strict=True)

    snapshot_id: Id | None = None


class SummaryText(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    summary: str


@router.get("/conversations/{uuid:conversation_id}/context", response=dict[str, Any])
def read(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Exactly what would be sent next."""
    conversation = get_conversation(request.auth, conversation_id)
    context = prompt.look(conversation)
    checkpoints = Checkpoint.objects.filter(conversation=conversation, active=True)
    return {
        "messages": context.messages,
        "usage": usage_json(context.usage) if context.usage else None,
        "compressed_at": conversation.compressed_at and conversation.compressed_at.isoformat(),
        "checkpoints": [checkpoint_json(row) for row in checkpoints],
    }


@router.post("/context/{uuid:conversation_id}/compact", response={202: dict[str, Any]})
def compact(request: Request, conversation_id: UUID, body: CompactRequest | None = None) -> dict[str, Any]:
    conversation = get_conversation(request.auth, conversation_id)
    require_body_if_declared(request)
    asked = body or CompactRequest()
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


@router.get("/tasks/{uuid:task_id}/progress", response=dict[str, Any])
def progress(request: Request, task_id: UUID) -> dict[str, Any]:
    """`result` once there is one, `error` where it failed or had nothing to do."""
    row = Compaction.objects.filter(pk=task_id, conversation__in=own_conversations(request.auth)).first()
    if row is None:
        raise Http404
    told = compaction_json(row)
    has_result = row.status in (Compaction.Status.SUCCEEDED, Compaction.Status.UNDONE)
    return {
        "status": row.status,
        "stage": row.stage,
        "percent": row.percent,
        "eta_seconds": compaction.eta_seconds(row),
        "result": told if has_result else None,
        "error": told["error"],
    }


@router.get("/context/{uuid:conversation_id}/compactions", response=dict[str, Any])
def compactions(request: Request, conversation_id: UUID, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    rows = Compaction.objects.filter(conversation=get_conversation(request.auth, conversation_id))
    return newest_first(rows, compaction_json, by="created_at", cursor=cursor, limit=limit)


@router.get("/context/{uuid:conversation_id}/snapshots", response=dict[str, Any])
def snapshots(request: Request, conversation_id: UUID, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    rows = Snapshot.objects.filter(conversation=get_conversation(request.auth, conversation_id))
    return newest_first(rows, _snapshot_json, by="created_at", cursor=cursor, limit=limit)


@router.post("/context/{uuid:conversation_id}/snapshots", response={201: dict[str, Any]})
def take_snapshot(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Keeps the state as it is now, to be gone back to."""
    return _snapshot_json(states.take_snapshot(get_conversation(request.auth, conversation_id)))


@router.post("/context/{uuid:conversation_id}/clear", response=dict[str, Any])
def clear(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Nothing is compressed any more; a recovery snapshot keeps the state of before."""
    conversation = get_conversation(request.auth, conversation_id)
    states.clear(conversation)
    return _state_json(conversation)


@router.put("/context/{uuid:conversation_id}/checkpoints/{int:number}", response=dict[str, Any])
def edit_summary(request: Request, conversation_id: UUID, number: int, body: SummaryText) -> dict[str, Any]:
    """The summary in other words: a checkpoint of its own, in place of the one that was in force."""
    conversation = get_conversation(request.auth, conversation_id)
    return checkpoint_json(summaries.edit(conversation, number=number, text=body.summary))


@router.post("/context/{uuid:conversation_id}/rollback", response=dict[str, Any])
def rollback(request: Request, conversation_id: UUID, body: RollbackRequest | None = None) -> dict[str, Any]:
    conversation = get_conversation(request.auth, conversation_id)
    require_body_if_declared(request)
    restored = compaction.rollback(conversation, snapshot_id=body.snapshot_id if body else None)
    return {"snapshot": _snapshot_json(restored)} | _state_json(conversation)


def _state_json(conversation: Conversation) -> dict[str, Any]:
    used = usage.of(conversation)
    return {
        "compressed_at": conversation.compressed_at and conversation.compressed_at.isoformat(),
        "compression_version": conversation.compression_version,
        "usage": usage_json(used) if used else None,
    }


def _snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "id": str(snapshot.pk),
        "purpose": snapshot.purpose,
        "compaction_id": str(snapshot.compaction_id) if snapshot.compaction_id else None,
        "compressed_at": snapshot.compressed_at and snapshot.compressed_at.isoformat(),
        "summary_tokens": snapshot.compressed_tokens,
        "checkpoints": len(snapshot.checkpoint_ids),
        "created_at": snapshot.created_at.isoformat(),
    }
