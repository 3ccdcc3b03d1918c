"""Files of messages: uploaded while a message is written, taken away again, and looked at."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget

from conversations.access import get_conversation
from conversations.context import settings
from conversations.errors import NotFound, Refused
from conversations.messages import attachments
from conversations.messages.file_http import received, sent_out
from conversations.models import Attachment
from conversations.page.views.guard import Request, member


@member
@require_POST
def upload(request: Request, pk: UUID) -> HttpResponse:
    """The file's chip in the composer; of one that is refused, a line that says why."""
    conversation = get_conversation(request.user, pk)
    try:
        name, data = received(request)
        row = attachments.upload(conversation, name=name, data=data)
    except Refused as refusal:
        file = request.FILES.get("file")
        told = {"name": file.name if file else "", "why": refusal.without_field}
        response = render(request, "conversations/_not_attached.html", told, status=refusal.status)
        return reswap(retarget(response, "this"), "outerHTML")
    context = {"attachment": row, "profile": settings.profile_of(conversation)}
    return render(request, "conversations/_attachment.html", context)


@member
@require_POST
def remove(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """Its chip goes; also where it went from another tab, or was sent there."""
    conversation = get_conversation(request.user, pk)
    with suppress(NotFound):
        attachments.remove(conversation, attachment_id)
    return HttpResponse()


@member
@require_GET
def attachment(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """The bytes of a file, its owner's alone: an image to be seen, text to be kept."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(Attachment.objects.select_related("message"), conversation=conversation, pk=attachment_id)
    return sent_out(row)
