"""The home page with the list of conversations, and the views that begin a conversation."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from conversations import preferences
from conversations.access import CHATS, own_conversations
from conversations.compaction import compaction
from conversations.errors import Invalid, Refused
from conversations.exchange import imports
from conversations.instructions import conversation_settings
from conversations.llm.profiles import default_profile
from conversations.memory import message_index
from conversations.models import Conversation, ModelProfile
from conversations.page.setting_forms import BeginForm
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of, ids_of, moment
from conversations.page.views.sidebar import sidebar, used_last
from conversations.projects import MAY_WRITE, get_project
from conversations.turns import slash_commands, turn

MAX_UNDONE = 100
"""The most conversations in the trash for which the page offers Undo at once."""
SAMPLE_RULES = ["And one rule for all of this: never restart anything on Fridays."]
SAMPLE = Path(__file__).parents[2] / "sample" / "moving-a-service.json"


@member
@require_GET
def home(request: Request) -> HttpResponse:
    """First steps, or the conversations used last. With `archived`, the list shows the archive."""
    before = moment(request.GET, "before")
    listed = sidebar(request.user, before=before, archived="archived" in request.GET)
    if request.htmx and before:
        return render(request, "conversations/list/_conversations.html", {"sidebar": listed})
    profile = default_profile(request.user.pk)
    context = {
        "sidebar": listed,
        "recent": used_last(request.user, listed),
        "profile": profile,
        "is_demo": profile is not None and profile.provider == ModelProfile.Provider.BUILTIN,
        "begin_form": BeginForm(request.user),
        "just_trashed": _trashed(request),
        "sample": _sample_figures() if listed.is_unused else None,
    }
    return render(request, "conversations/list/home.html", context)


def _trashed(request: Request) -> list[Conversation]:
    """The conversations that were moved to the trash just now (`trashed`), so that this can be undone."""
    ids = ids_of(request.GET, "trashed")[:MAX_UNDONE]
    return list(own_conversations(request.user, trashed=True).filter(pk__in=ids)) if ids else []


@cache
def _sample_figures() -> dict[str, int]:
    """The numbers of all and of the summarised messages of the sample."""
    sample = json.loads(SAMPLE.read_bytes())
    ids = [message["id"] for message in sample["messages"]]
    return {"messages": len(ids), "summarised": ids.index(sample["checkpoints"][-1]["last_message"]) + 1}


@member
@require_POST
def new(request: Request) -> HttpResponse:
    """Open an empty conversation of a `kind` (a chat by default), an existing unused one if there is any.

    `model`, `effort` and `project` are those of the form on the home page, which opens a chat for files.
    """
    kind = request.POST.get("kind", Conversation.Kind.CHAT)
    if kind not in CHATS:
        raise Invalid(f"kind: must be one of {', '.join(CHATS)}.", field="kind")
    mine = own_conversations(request.user)
    begin = {"project": None, **_begin(request), "kind": kind}
    unused = mine.filter(messages=None, title="", archived=False, **begin).order_by("-updated_at").first()
    conversation = unused or Conversation(owner_id=request.user.pk, **begin)
    conversation.updated_at = timezone.now()
    conversation.save()
    return redirect("chat", conversation.pk)


@member
@require_POST
def ask(request: Request) -> HttpResponse:
    """Open a new chat with a first message, answered by the chosen model. A refused message leaves no chat."""
    text = request.POST.get("content", "").replace("\r\n", "\n")
    if slash_commands.is_help(text):
        return reswap(retarget(render(request, "conversations/composer/_help.html"), "#reader"), "innerHTML")
    if compaction.command(text) is not None:
        raise Invalid(_("content: there is nothing to compact in a new chat."), field="content")
    slash_commands.require_text(text)
    conversation = Conversation.objects.create(owner_id=request.user.pk, **_begin(request))
    try:
        turn.begin(conversation, content=text)
    except Refused:
        conversation.delete()
        raise
    target = reverse("chat", args=[conversation.pk])
    return HttpResponseClientRedirect(target) if request.htmx else redirect(target)


def _begin(request: Request) -> dict[str, Any]:
    """The settings of a new chat: those of the form, else the person's preferences."""
    begin: dict[str, Any] = preferences.begin_with(request.user)
    if project_id := id_of(request.POST, "project"):
        begin["project"] = get_project(request.user, project_id, MAY_WRITE)
    if "model" in request.POST:
        begin["model"] = conversation_settings.chosen_profile(request.user, request.POST["model"])
    if "effort" in request.POST:
        begin["effort"] = conversation_settings.clean_effort(request.POST["effort"])
    return begin


@member
@require_POST
def sample(request: Request) -> HttpResponse:
    """Import the sample conversation with its written summary, for people without conversations."""
    (conversation,) = imports.import_conversations(request.user, SAMPLE.read_bytes())
    own_conversations(request.user).filter(pk=conversation.pk).update(updated_at=timezone.now())
    message_index.catch_up(conversation.pk)  # a first search is for a word of it
    conversation_settings.change(
        conversation, rules=SAMPLE_RULES
    )  # imports never enforce rules of a file, but this rule is ours
    return redirect(f"{reverse('chat', args=[conversation.pk])}?sample")
