"""Acts on several conversations of the list at once: archive, take back, move to the trash, download."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from conversations.access import own_conversations
from conversations.errors import Invalid
from conversations.instructions import conversation_settings
from conversations.models import Conversation
from conversations.page.views.conversations import as_zip, is_open
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import ids_of
from conversations.turns import conversations

MOST = 100
"""The most conversations that are acted on at once: their ids stand in an address, and proxies take 8 KB."""
ACTS = ("archive", "unarchive", "trash")


@member
@require_POST
def several(request: Request) -> HttpResponse:
    """Do `act` to the conversations with these `ids`; those of others, and those that are gone, are left out."""
    act, chosen = request.POST.get("act", ""), _chosen(request)
    if act not in ACTS:
        raise Invalid(f"act: must be one of {', '.join(ACTS)}.", field="act")
    for conversation in chosen:
        if act == "trash":
            conversations.trash(conversation)
        else:
            conversation_settings.change(conversation, archived=act == "archive")
    if act == "trash":
        return HttpResponseClientRedirect(f"{reverse('home')}?{urlencode([('trashed', row.pk) for row in chosen])}")
    number = len(chosen)
    if act == "archive":
        said = ngettext("%(number)s chat moved to the archive.", "%(number)s chats moved to the archive.", number)
    else:
        said = ngettext(
            "%(number)s chat moved out of the archive.", "%(number)s chats moved out of the archive.", number
        )
    messages.success(request, said % {"number": number})
    if any(is_open(request, row.pk) for row in chosen):
        return HttpResponseClientRedirect(reverse("home"))
    return HttpResponseClientRefresh()


@member
@require_GET
def export_several(request: Request) -> HttpResponse:
    """The conversations with these `ids` as one zip."""
    return as_zip(request.user, _chosen(request))  # type: ignore[return-value]


def _chosen(request: Request) -> list[Conversation]:
    ids = ids_of(request.POST if request.method == "POST" else request.GET, "ids")
    if not ids or len(ids) > MOST:
        raise Invalid(_("ids: choose from 1 to %(most)s conversations.") % {"most": MOST}, field="ids", limit=MOST)
    return list(own_conversations(request.user).filter(pk__in=ids).order_by("-updated_at"))
