"""The dialog that reads the whole of a file for one question: its parts and cost first, then its progress."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from conversations.access import get_conversation
from conversations.errors import Conflict, Invalid
from conversations.models import Conversation, WholeReading
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of
from conversations.turns import whole_files


@member
@never_cache
@require_http_methods(["GET", "POST"])
def readings(request: Request, pk: UUID) -> HttpResponse:
    """The dialog: of a reading that is under way, or for a new one. A POST begins to read."""
    conversation = get_conversation(request.user, pk)
    if request.method == "POST":
        if (file_id := id_of(request.POST, "file")) is None:
            raise Invalid(_("file: choose one."), field="file")
        return _dialog(
            request, whole_files.start(conversation, file_id=file_id, question=request.POST.get("question", ""))
        )
    last = WholeReading.objects.filter(conversation=conversation).first()
    if last and last.status != WholeReading.Status.ANSWERED and "new" not in request.GET:
        return _dialog(request, last)
    files = [_offered(conversation, file) for file in whole_files.files_of(conversation)[:50]]
    context = {"conversation": conversation, "offers": files, "question": request.GET.get("question", "")}
    return render(request, "conversations/thread/_reading.html", context)


def _offered(conversation: Conversation, file: whole_files.File) -> dict[str, object]:
    """A file with the plan of its reading, or with the reason why it cannot be read."""
    try:
        return {"file": file, "plan": whole_files.plan(conversation, file)}
    except (Invalid, Conflict) as refusal:
        return {"file": file, "why": refusal.without_field}


@member
@never_cache
@require_GET
def reading(request: Request, pk: UUID, reading_id: UUID) -> HttpResponse:
    """The progress of a reading."""
    return _dialog(request, _found(request, pk, reading_id))


@member
@require_POST
def stop_reading(request: Request, pk: UUID, reading_id: UUID) -> HttpResponse:
    row = _found(request, pk, reading_id)
    whole_files.stop(row)
    return _dialog(request, row)


@member
@require_POST
def go_on_reading(request: Request, pk: UUID, reading_id: UUID) -> HttpResponse:
    row = _found(request, pk, reading_id)
    whole_files.go_on(row)
    return _dialog(request, row)


def _found(request: Request, pk: UUID, reading_id: UUID) -> WholeReading:
    return get_object_or_404(WholeReading, conversation=get_conversation(request.user, pk), pk=reading_id)


def _dialog(request: Request, row: WholeReading) -> HttpResponse:
    row.refresh_from_db()
    context = {"conversation": row.conversation, "reading": row, "is_under_way": whole_files.is_under_way(row)}
    return render(request, "conversations/thread/_reading.html", context)
