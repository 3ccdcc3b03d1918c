"""/api/conversations/{id}/attachments: images and text files, uploaded before the message that they go with."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router, Status

from conversations.access import TO_READ, get_conversation, writable_conversation
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.schemas import attachments as schema
from conversations.api.schemas.fields import SHAPE, described
from conversations.errors import UnsupportedMediaType
from conversations.instructions.conversation_settings import profile_of
from conversations.messages import attachments
from conversations.messages.file_http import received, sent_out
from conversations.messages.images import MEDIA_TYPES
from conversations.models import Attachment
from conversations.runtime.payloads import attachment_json

router = Router(tags=["messages"])

FORM = "multipart/form-data"
SHAPE_OF_FORM = {SHAPE: json.dumps(schema.FileForm.model_json_schema())}
FORM_BODY = {
    "requestBody": {"required": True, "content": {FORM: {"schema": SHAPE_OF_FORM, "example": {"file": "its bytes"}}}}
}
BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
KINDS = dict.fromkeys(("text/plain", *MEDIA_TYPES.values()), BYTES)


@router.post(
    "/{uuid:conversation_id}/attachments",
    operation_id="attachments_upload",
    response={201: described(schema.Uploaded)},
    summary="Upload a file for a message",
    openapi_extra=refuses(409) | FORM_BODY,
)
def upload_attachment(request: Request, conversation_id: UUID) -> Status:
    """An image (PNG, JPEG, GIF, WebP, HEIC, AVIF, TIFF, BMP; at most 5 MB), a text file (UTF-8 or UTF-16; at most 1 MB)
    or a document (PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF, mail; at most 20 MB, only its text is kept),
    by its bytes. Where the conversation's model sees images, an SVG and the pages of a scanned PDF become images.

    It waits for a message that names it in `attachments`, for a day. With a key; a session uploads on the page.
    """
    conversation = writable_conversation(request.auth, conversation_id)
    if request.content_type != FORM:
        raise UnsupportedMediaType(f"Send the file as {FORM}.")
    name, data = received(request)
    profile = profile_of(conversation)
    sees = profile is not None and profile.can_see
    first, *further = attachments.upload_seen(conversation, name=name, data=data, sees=sees).rows
    return Status(201, attachment_json(first, conversation.window) | {"further": [str(row.pk) for row in further]})


@router.get(
    "/{uuid:conversation_id}/attachments/{uuid:attachment_id}",
    operation_id="attachments_read",
    response={200: None},
    summary="Read a file",
    openapi_extra={"responses": {200: {"description": "Its bytes.", "content": KINDS}}},
)
def read_attachment(request: Request, conversation_id: UUID, attachment_id: UUID) -> HttpResponse:
    """The stored bytes. Images are stored without the place where they were taken."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    rows = Attachment.objects.select_related("message")
    return sent_out(get_object_or_404(rows, conversation=conversation, pk=attachment_id))


@router.delete(
    "/{uuid:conversation_id}/attachments/{uuid:attachment_id}",
    operation_id="attachments_remove",
    response={204: None},
    summary="Remove a file that is not sent yet",
    openapi_extra=refuses(409),
)
def remove_attachment(request: Request, conversation_id: UUID, attachment_id: UUID) -> Status:
    """A file that is part of a message cannot be removed: 404."""
    attachments.remove(writable_conversation(request.auth, conversation_id), attachment_id)
    return Status(204, None)
