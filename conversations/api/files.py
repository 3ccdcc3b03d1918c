"""Conversations as files: out as JSON or Markdown, in as JSON."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.db.models import Count
from django.http import HttpResponse, JsonResponse
from ninja import Router

from conversations.access import get_conversation
from conversations.api.auth import Request
from conversations.api.parsing import require_json
from conversations.exchange.exports import as_json, as_markdown
from conversations.exchange.imports import import_conversations
from conversations.models import Conversation

router = Router(tags=["files"])

FILE_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}


@router.get("/{uuid:conversation_id}/export", response=dict[str, Any])
def export(request: Request, conversation_id: UUID, format: Literal["json", "md"] = "json") -> HttpResponse:
    conversation = get_conversation(request.auth, conversation_id)
    response: HttpResponse
    if format == "md":
        response = HttpResponse(as_markdown(conversation), content_type="text/markdown; charset=utf-8")
    else:
        response = JsonResponse(as_json(conversation))
    response["Content-Disposition"] = f'attachment; filename="conversation-{conversation.pk}.{format}"'
    return response


@router.post("/import", response={201: dict[str, Any]}, openapi_extra=FILE_BODY)
def import_file(request: Request) -> dict[str, Any]:
    """The body is the file itself: our own export, or a title and messages."""
    require_json(request)
    made = [row.pk for row in import_conversations(request.auth, request.body)]
    rows = Conversation.objects.filter(pk__in=made).annotate(count=Count("messages")).order_by("pk")
    return {"conversations": [{"id": str(row.pk), "title": row.title, "messages": row.count} for row in rows]}
