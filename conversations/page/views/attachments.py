"""The views that upload a file to the composer, remove it, and serve its bytes."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget

from conversations.access import get_conversation
from conversations.errors import NotFound, Refused
from conversations.instructions import conversation_settings
from conversations.messages import attachments
from conversations.messages.file_http import received, sent_out
from conversations.models import Attachment
from conversations.page.views.guard import Request, member

PREVIEWED = 50_000
"""The characters of a file that its preview shows."""


@member
@require_POST
def upload(request: Request, pk: UUID) -> HttpResponse:
    """The uploaded file's chip in the composer, or a line with the reason if the file is refused.

    Of a scanned document a model that sees images gets the first pages as images.
    """
    conversation = get_conversation(request.user, pk)
    try:
        name, data = received(request)
        profile = conversation_settings.profile_of(conversation)
        sees = profile is not None and profile.can_see
        made = attachments.upload_seen(conversation, name=name, data=data, sees=sees)
    except Refused as refusal:
        file = request.FILES.get("file")
        rejected = {"name": file.name if file else "", "why": refusal.without_field}
        response = render(request, "conversations/composer/_not_attached.html", rejected, status=refusal.status)
        return reswap(retarget(response, "this"), "outerHTML")
    left_out = max(0, made.pages - len(made.rows))
    context = {"attachments": made.rows, "profile": profile, "name": name, "left_out": left_out, "pages": made.pages}
    return render(request, "conversations/composer/_attached.html", context)


@member
@require_POST
def remove_attachment(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """Remove a file's chip, also if another tab has removed or sent the file."""
    conversation = get_conversation(request.user, pk)
    with suppress(NotFound):
        attachments.remove(conversation, attachment_id)
    return HttpResponse()


@member
@require_GET
def preview(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """The text of the owner's file as the model gets it, from its beginning, or the image."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(Attachment.objects.select_related("message"), conversation=conversation, pk=attachment_id)
    text = "" if row.kind == Attachment.Kind.IMAGE else attachments.bytes_of(row).decode(errors="replace")
    context = {"attachment": row, "text": text[:PREVIEWED], "left_out": max(0, len(text) - PREVIEWED)}
    return render(request, "conversations/composer/_preview.html", context)


@member
@require_GET
def attachment(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """The bytes of the owner's file: an image to display, or a text to download."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(Attachment.objects.select_related("message"), conversation=conversation, pk=attachment_id)
    return sent_out(row)
