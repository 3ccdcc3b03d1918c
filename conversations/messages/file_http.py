"""Receives uploaded files over HTTP and serves stored ones."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.messages.attachments import MAX_FILE_BYTES, bytes_of
from conversations.models import Attachment

NOT_KEPT = "private, no-store"
"""No browser keeps a file: it would stay on the disk after its owner has signed out."""
NOTHING_RUNS = "sandbox; default-src 'none'"


def received(request: HttpRequest) -> tuple[str, bytes]:
    """The name and bytes of the form's only file. Raises Invalid, for a too large file without reading it."""
    try:
        files = request.FILES.getlist("file")
    except MultiPartParserError:
        raise Invalid("file: this is no form that can be read.", field="file") from None
    if len(files) != 1:
        raise Invalid("file: is required." if not files else "file: one at a time.", field="file")
    file = files[0]
    if (file.size or 0) > MAX_FILE_BYTES:
        raise Invalid(
            _("file: at most %(most)s MB.") % {"most": MAX_FILE_BYTES // 1_000_000},
            field="file",
            limit=MAX_FILE_BYTES,
        )
    return file.name or "", file.read()


def sent_out(row: Attachment) -> HttpResponse:
    """Serve an image to be shown, or a file's text to be downloaded; headers keep browsers from treating it as a page.

    Raises Http404 if the file's bytes are missing.
    """
    is_image = row.kind == Attachment.Kind.IMAGE
    if not (data := bytes_of(row)):
        raise Http404
    response = HttpResponse(data, content_type=row.media_type if is_image else "text/plain; charset=utf-8")
    is_document = not is_image and row.media_type != "text/plain"
    name = f"{row.name}.txt" if is_document else row.name
    response["Content-Disposition"] = content_disposition_header(not is_image, name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = NOTHING_RUNS
    response["Cache-Control"] = NOT_KEPT
    return response
