"""The list of conversations, and the beginning of a new one."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from conversations.access import own_conversations
from conversations.llm.profiles import default_profile
from conversations.models import Conversation
from conversations.views.guard import Request, member
from conversations.views.parse import moment
from conversations.views.sidebar import sidebar


@member
@require_GET
def home(request: Request) -> HttpResponse:
    before = moment(request.GET, "before")
    context = {"sidebar": sidebar(request.user, before=before)}
    if request.htmx and before:
        return render(request, "conversations/_conversations.html", context)
    return render(request, "conversations/home.html", context | {"profile": default_profile()})


@member
@require_POST
def new(request: Request) -> HttpResponse:
    """An empty conversation: the one that is still unused, where there is one."""
    mine = own_conversations(request.user)
    unused = mine.filter(messages=None, title="", system_prompt="").order_by("-updated_at").first()
    conversation = unused or Conversation(owner_id=request.user.pk)
    conversation.model = conversation.model or default_profile()
    conversation.updated_at = timezone.now()
    conversation.save()
    return redirect("chat", conversation.pk)
