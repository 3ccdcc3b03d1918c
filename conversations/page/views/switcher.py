"""The list in a chat's head from which its model and effort are chosen."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from conversations import preferences
from conversations.access import get_conversation
from conversations.errors import Refused
from conversations.instructions import conversation_settings
from conversations.models import Conversation
from conversations.page.switcher import EFFORTS, favourites_of, rows
from conversations.page.views.guard import Request, member

MAX_FAVOURITES = 100


@member
@never_cache
@require_GET
def switcher(request: Request, pk: UUID) -> HttpResponse:
    return _shown(request, get_conversation(request.user, pk))


@member
@require_POST
def switch(request: Request, pk: UUID) -> HttpResponse:
    """Choose the `model`, or the `effort`; the response is the list as it is then."""
    conversation = get_conversation(request.user, pk)
    try:
        if "effort" in request.POST:
            conversation_settings.change(conversation, effort=request.POST["effort"])
        else:
            conversation_settings.change(
                conversation, model=conversation_settings.chosen_profile(request.user, request.POST.get("model", ""))
            )
    except Refused as refusal:
        return _shown(request, conversation, refusal=str(refusal), status=refusal.status)
    return _shown(request, conversation, is_chosen="effort" not in request.POST)


@member
@require_POST
def favourite(request: Request, pk: UUID) -> HttpResponse:
    """Make the `model` one of the person's favourites, or no longer."""
    conversation = get_conversation(request.user, pk)
    model = conversation_settings.chosen_profile(request.user, request.POST.get("model", ""))
    before = favourites_of(request.user)
    after = before ^ {model.pk}
    preferences.change(request.user, favourite_models=sorted(after)[:MAX_FAVOURITES])
    return _shown(request, conversation)


def _shown(request: Request, conversation: Conversation, *, status: int = 200, **more: Any) -> HttpResponse:
    conversation.refresh_from_db(fields=["model", "effort"])
    context = {
        "conversation": conversation,
        "profile": conversation_settings.profile_of(conversation),
        "rows": rows(conversation, request.user),
        "efforts": EFFORTS,
    }
    return render(request, "conversations/chat/_switcher.html", context | more, status=status)
