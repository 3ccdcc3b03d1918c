"""Keeps the list beside open pages up to date: which chat is being answered, which has a reply that was not read."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from conversations.access import own_conversations
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of
from conversations.page.views.sidebar import UNREAD, activity_of, sidebar


@member
@never_cache
@require_POST
def activity(request: Request) -> HttpResponse:
    """The current list, or 204 if the page's `stamp` is current. The owner is looking at the chat `at`."""
    pk = id_of(request.POST, "at")
    current = own_conversations(request.user).filter(pk=pk).first() if pk else None
    listed = sidebar(request.user, current=current)
    if current and any(row == current and activity_of(row) == UNREAD for row in listed.conversations):
        own_conversations(request.user).filter(pk=current.pk).update(seen_at=timezone.now())
        listed = sidebar(request.user, current=current)
    if listed.stamp == request.POST.get("stamp"):
        return HttpResponse(status=204)
    response = render(request, "conversations/list/_conversations.html", {"sidebar": listed, "conversation": current})
    states = {str(row.pk): [activity_of(row), str(row)] for row in listed.conversations}
    return trigger_client_event(response, "activity", {"stamp": listed.stamp, "states": states})
