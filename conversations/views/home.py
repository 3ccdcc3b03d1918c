"""The list of conversations, and the beginning of a new one."""

from __future__ import annotations

from pathlib import Path

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from conversations import preferences, rules
from conversations.access import CHATS, own_conversations
from conversations.errors import Invalid
from conversations.exchange import imports
from conversations.llm.profiles import default_profile
from conversations.models import Conversation, ModelProfile
from conversations.views.guard import Request, member
from conversations.views.parse import moment
from conversations.views.sidebar import sidebar, used_last

SAMPLE_RULES = ["And one rule for all of this: never restart anything on Fridays."]
SAMPLE = Path(__file__).parent.parent / "sample" / "moving-a-service.json"


@member
@require_GET
def home(request: Request) -> HttpResponse:
    """First steps, or what was used last. The list is that of the conversations put away where `archived` is given."""
    before = moment(request.GET, "before")
    listed = sidebar(request.user, before=before, archived="archived" in request.GET)
    if request.htmx and before:
        return render(request, "conversations/_conversations.html", {"sidebar": listed})
    profile = default_profile()
    context = {
        "sidebar": listed,
        "recent": used_last(request.user, listed),
        "profile": profile,
        "is_demo": profile is not None and profile.provider == ModelProfile.Provider.BUILTIN,
        "searches_first": not listed.is_unused,
    }
    return render(request, "conversations/home.html", context)


@member
@require_POST
def new(request: Request) -> HttpResponse:
    """An empty conversation of a `kind`, a chat unless told otherwise: the unused one, where there is one."""
    kind = request.POST.get("kind", Conversation.Kind.CHAT)
    if kind not in CHATS:
        raise Invalid(f"kind: must be one of {', '.join(CHATS)}.", field="kind")
    mine = own_conversations(request.user)
    begin = preferences.begin_with(request.user) | {"kind": kind}
    unused = mine.filter(messages=None, title="", archived=False, **begin).order_by("-updated_at").first()
    conversation = unused or Conversation(owner_id=request.user.pk, **begin)
    conversation.updated_at = timezone.now()
    conversation.save()
    return redirect("chat", conversation.pk)


@member
@require_POST
def sample(request: Request) -> HttpResponse:
    """A conversation that is worth folding, for somebody who has none yet: imported as any other."""
    (conversation,) = imports.import_conversations(request.user, SAMPLE.read_bytes())
    rules.set_rules(conversation, SAMPLE_RULES)  # an import puts none in force: this one is ours
    return redirect(f"{reverse('chat', args=[conversation.pk])}?sample")
