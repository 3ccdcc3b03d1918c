"""The messages of one chat that have some words, or that were written on a day."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.access import get_conversation
from conversations.messages.find_in_chat import FoundMessages, find_date, find_words
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import moment


@member
@never_cache
@require_GET
def find(request: Request, pk: UUID) -> HttpResponse:
    """The messages with the words of `q`, or the first one since the moment `since`."""
    conversation = get_conversation(request.user, pk)
    since = moment(request.GET, "since")
    if since:
        there = find_date(conversation, since)
        finds = FoundMessages((there,) if there else ())
    else:
        finds = find_words(conversation, request.GET.get("q", ""))
    return render(request, "conversations/thread/_finds.html", {"finds": finds, "is_date": since is not None})
