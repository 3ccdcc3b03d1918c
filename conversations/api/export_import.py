"""Conversations as files: out as JSON or Markdown, in as JSON or in a zip file."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from ninja import Query, Router

from conversations.access import TO_READ, get_conversation
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.schemas import files as schema
from conversations.api.schemas.fields import described
from conversations.errors import UnsupportedMediaType
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.runtime import audit

router = Router(tags=["files"])

Format = Annotated[Literal["json", "md"], Query(description="Our own JSON, which can be imported again, or Markdown.")]
FILE = {
    "title": "Ports of the billing service",
    "messages": [
        {"role": "user", "content": "Which port does billing use?"},
        {"role": "assistant", "content": "8443."},
    ],
}

MEDIA_TYPES: dict[str, Any] = {
    "application/json": {"schema": {"type": ["object", "array"]}, "example": FILE},
    "application/zip": {"schema": {"type": "string", "format": "binary"}},
}
FILE_BODY = {"requestBody": {"required": True, "content": MEDIA_TYPES}}
MARKDOWN = {
    "text/markdown": {"schema": {"type": "string"}, "example": "# Ports of the billing service\n\n- Started: …"}
}


@router.get(
    "/{uuid:conversation_id}/export",
    response=described(schema.Export),
    summary="Export a conversation",
    operation_id="files_export",
    openapi_extra=refuses(also=MARKDOWN),
)
def export_conversation(request: Request, conversation_id: UUID, format: Format = "json") -> HttpResponse:
    """The conversation as a file. Replaced messages are not in it."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    audit.note(audit.Action.EXPORTED, request.auth, f"conversation {conversation_id}")
    response: HttpResponse
    if format == "md":
        response = HttpResponse(as_markdown(conversation), content_type="text/markdown; charset=utf-8")
    else:
        response = JsonResponse(as_json(conversation))
    response["Content-Disposition"] = f'attachment; filename="conversation-{conversation.pk}.{format}"'
    return response


@router.post(
    "/import",
    response={201: described(schema.Imported)},
    summary="Import conversations",
    operation_id="files_import_file",
    openapi_extra=FILE_BODY,
)
def import_file(request: Request) -> dict[str, Any]:
    """The body is a file: an export of this site, of ChatGPT or of Claude, or a title and messages, or a list of these.

    The zip files of ChatGPT and Claude can be sent as they are. Each conversation is imported whole or not at all. A
    newer export of ChatGPT or Claude adds the messages that are new.
    """
    if request.content_type not in MEDIA_TYPES:
        raise UnsupportedMediaType(f"Send the body as {' or '.join(MEDIA_TYPES)}.")
    imported = import_conversations(request.auth, request.body)
    made = [
        {"id": str(row.pk), "title": row.title, "messages": count}
        for row, count in zip(imported.conversations, imported.messages, strict=True)
    ]
    updated = [{"id": str(row.pk), "title": row.title, "messages": new} for row, new in imported.updated]
    return {
        "conversations": made,
        "updated": updated,
        "unchanged": imported.unchanged,
        "skipped": imported.skipped,
        "unread": [one._asdict() for one in imported.unread],
    }
