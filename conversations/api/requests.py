"""/api/conversations/{id}/messages/{mid}/request: what a reply was asked with."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router

from conversations.access import TO_READ, get_conversation
from conversations.api.auth import Request
from conversations.api.schemas import requests as schema
from conversations.api.schemas.fields import described
from conversations.requests import replay
from conversations.requests.replay import Changes, Part, Replayed

router = Router(tags=["messages"])

Against = Annotated[UUID | None, Query(description="Another reply: `changes` says how its request differs.")]


@router.get(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/request",
    response=described(schema.PastRequest),
    summary="Read the request of a reply",
    operation_id="records_read",
)
def read_request(request: Request, conversation_id: UUID, message_id: UUID, against: Against = None) -> dict[str, Any]:
    """The exact request that the model got for this reply. 404 `no_record` for a message that no model wrote here."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    replayed = replay.replay(conversation, message_id)
    if against is None:
        return _replayed_json(replayed)
    changes = replay.compare(replay.replay(conversation, against), replayed)
    return _replayed_json(replayed) | {"changes": {"against": str(against)} | _changes_json(changes)}


def _replayed_json(replayed: Replayed) -> dict[str, Any]:
    reply, noted = replayed.reply, replayed.noted
    return {
        "message_id": str(reply.pk),
        "created_at": reply.created_at.isoformat(),
        "model": reply.model,
        "model_id": noted["model"],
        "max_tokens": noted["max_tokens"],
        "chat_template": replayed.chat_template,
        "messages": replayed.messages,
        "parts": [_part_json(part) for part in replayed.parts],
        "usage": replayed.tokens
        | {"total": replayed.total}
        | {name: noted[name] for name in ("window", "budget", "correction")},
        "thoughts": noted.get("thoughts", 0),
        "hash": noted["hash"],
        "is_exact": replayed.is_exact,
        "why": replayed.gone or None,
    }


def _changes_json(changes: Changes) -> dict[str, Any]:
    return {
        "added": [_part_json(part) for part in changes.added],
        "removed": [_part_json(part) for part in changes.removed],
        "kept": [_part_json(part) for part in changes.kept],
        "prefix_tokens": changes.prefix_tokens,
    }


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "kind": part.kind,
        "role": part.role,
        "tokens": part.tokens,
        "message_id": part.message_id or None,
        "checkpoints": list(part.checkpoints),
        "digest": part.digest,
    }
