"""The views that show earlier versions of a message, and continue the conversation from one of them."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget, trigger_client_event

from conversations.access import get_conversation
from conversations.page import fragments
from conversations.page import thread as threads
from conversations.page.message_view import MessageView, view_of
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of, whole_number
from conversations.turns import branches, versions


@member
@never_cache
@require_GET
def version(request: Request, pk: UUID, message_id: UUID, number: int) -> HttpResponse:
    """A version in place of the message; the current version looks like the message itself."""
    conversation = get_conversation(request.user, pk)
    item = view_of(conversation, branches.message_of(conversation, message_id))
    shown = versions.version(item.message, number)
    present = "_opened" if item.state == "compressed" else "_message"
    name = present if shown.is_current else "_earlier"
    items = [MessageView(row, "replaced", row.content) for row in shown.messages]
    context = {"item": item, "version": shown, "items": items}
    response = render(request, f"conversations/thread/{name}.html", context)
    response.write(fragments.by_itself("#said", _announcement(item, shown)))
    return response


@member
@require_POST
def use(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Continue from a version. Asks for confirmation (`sure`) if later messages go with the current version."""
    conversation, number = get_conversation(request.user, pk), whole_number(request.POST, "version")
    current = branches.message_of(conversation, message_id)
    later = versions.leaving(current)
    came = threads.later_than_seen(conversation, id_of(request.POST, "seen"))
    if later and ("sure" not in request.POST or came):
        seen = threads.newest(conversation)
        context = {"message": current, "number": number, "later": later, "seen": seen}
        response = render(request, "conversations/thread/_sure_version.html", context)
        return reswap(retarget(response, f"#acts-{current.pk}"), "innerHTML")
    versions.use(conversation, current.pk, number=number)
    return trigger_client_event(HttpResponse(status=204), "converge")


def _announcement(item: MessageView, shown: versions.Version) -> str:
    """A sentence for screen readers that names the shown version."""
    if shown.is_current:
        words = _("Version %(number)s of %(versions)s, the current one.")
    else:
        words = _("Version %(number)s of %(versions)s, not part of the conversation.")
    return words % {"number": shown.number, "versions": item.message.versions or 1}
