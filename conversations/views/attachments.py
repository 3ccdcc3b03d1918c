"""Files of messages: uploaded while a message is written, taken away again, and looked at."""

from __future__ import annotations

from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget

from conversations import answering, attachments
from conversations.access import get_conversation
from conversations.errors import Invalid, Refused
from conversations.models import Attachment
from conversations.templatetags.chat import words
from conversations.views.guard import Request, member

KEPT_FOR = "private, max-age=31536000, immutable"
"""What an address leads to never changes."""
NOTHING_RUNS = "sandbox; default-src 'none'"


@member
@require_POST
def upload(request: Request, pk: UUID) -> HttpResponse:
    """The file's chip in the composer; of one that is refused, a line that says why."""
    conversation = get_conversation(request.user, pk)
    file = request.FILES.get("file")
    try:
        row = attachments.upload(conversation, name=file.name or "" if file else "", data=_read(file))
    except Refused as refusal:
        context = {"name": file.name if file else "", "why": words(refusal)}
        response = render(request, "conversations/_not_attached.html", context, status=refusal.status)
        return reswap(retarget(response, "this"), "outerHTML")
    context = {"attachment": row, "profile": answering.profile_of(conversation)}
    return render(request, "conversations/_attachment.html", context)


@member
@require_POST
def remove(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """Its chip goes; also where it went from another tab."""
    conversation = get_conversation(request.user, pk)
    attachments.remove(conversation, attachment_id)
    return HttpResponse()


@member
@require_GET
def attachment(request: Request, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """The bytes of a file, its owner's alone: an image to be seen, text to be kept."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(Attachment.objects.select_related("message"), conversation=conversation, pk=attachment_id)
    is_image = row.kind == Attachment.Kind.IMAGE
    response = HttpResponse(_bytes_of(row), content_type=row.media_type if is_image else "text/plain; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(not is_image, row.name)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = NOTHING_RUNS
    response["Cache-Control"] = KEPT_FOR
    return response


def _read(file: UploadedFile | None) -> bytes:
    """Raises Invalid for none, and for one that is too large to be looked at."""
    if file is None:
        raise Invalid("file: is missing.", field="file")
    if (file.size or 0) > attachments.LARGEST:
        most = attachments.LARGEST // 1_000_000
        raise Invalid(f"file: has more than {most} MB.", field="file", limit=attachments.LARGEST)
    return bytes(file.read())


def _bytes_of(row: Attachment) -> bytes:
    """The text of a file that was sent is in its message."""
    if row.message is None or row.start is None:
        return bytes(row.data or b"")
    return row.message.content[row.start : row.start + (row.length or 0)].encode()
