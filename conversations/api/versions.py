"""/api/conversations/{id}/messages/{id}/versions: what was said there before, and the way back to it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import Router

from conversations.access import TO_READ, get_conversation, writable_conversation
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.schemas import versions as schema
from conversations.api.schemas.fields import described
from conversations.messages.history import load_parts
from conversations.runtime.payloads import message_json
from conversations.turns import branches, versions

router = Router(tags=["messages"])


@router.get(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/versions",
    operation_id="versions_list_all",
    response=described(schema.Versions),
    summary="List versions of a message",
)
def list_versions(request: Request, conversation_id: UUID, message_id: UUID) -> dict[str, Any]:
    """The versions of a message by number."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    current = branches.message_of(conversation, message_id)
    found = [versions.version(current, number) for number in versions.numbers(current)]
    return {
        "items": [
            {
                "number": one.number,
                "is_current": one.is_current,
                "messages": [message_json(row, conversation.window) for row in one.messages],
                "more": one.more,
            }
            for one in found
        ]
    }


@router.post(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/use",
    operation_id="versions_use",
    response=described(schema.Message),
    summary="Use a version",
    openapi_extra=refuses(409),
)
def use_version(
    request: Request, conversation_id: UUID, message_id: UUID, body: schema.ChosenVersion
) -> dict[str, Any]:
    """Goes on from an earlier version and the messages that followed it. No model is asked."""
    conversation = writable_conversation(request.auth, conversation_id)
    row = versions.use(conversation, message_id, number=body.version)
    load_parts(row)
    return message_json(row, conversation.window)
