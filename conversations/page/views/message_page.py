"""The page that shows a message with its neighbours in the history, compacted or not."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.errors import NotFound
from conversations.messages.history import history, with_visible_parts
from conversations.models import Conversation
from conversations.page.message_view import view_of
from conversations.page.views.guard import Request, member
from conversations.page.views.projects import address_in_project
from conversations.page.views.sidebar import sidebar
from conversations.projects import readable_conversation

AROUND = 10
"""The most messages shown on each side."""


@member
@never_cache
@require_GET
def around(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    conversation = readable_conversation(request.user, pk)
    row = with_visible_parts(conversation.messages.filter(pk=message_id)).first()
    if row is None:
        raise NotFound(_("This message no longer exists."))
    if conversation.owner_id != request.user.pk and conversation.kind != Conversation.Kind.FILE:
        return redirect(address_in_project(conversation, row))
    others = with_visible_parts(history(conversation))
    before = list(others.filter(created_at__lt=row.created_at).order_by("-created_at")[: AROUND + 1])
    after = list(others.filter(created_at__gt=row.created_at).order_by("created_at")[: AROUND + 1])
    shown = [*reversed(before[:AROUND]), row, *after[:AROUND]]
    context = {
        "conversation": conversation,
        "is_file": conversation.kind == Conversation.Kind.FILE,
        "here": row,
        "items": [view_of(conversation, message, entries=()) for message in shown],
        "earlier": before[AROUND - 1] if before[AROUND:] else None,
        "later": after[AROUND - 1] if after[AROUND:] else None,
    }
    if request.htmx:
        return render(request, "conversations/thread/_around.html", context)
    listed = sidebar(request.user, current=conversation if conversation.owner_id == request.user.pk else None)
    return render(request, "conversations/thread/around.html", context | {"sidebar": listed})
