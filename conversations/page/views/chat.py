"""The page of a conversation, and the parts of it that the page fetches again."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings as site
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django_htmx.http import trigger_client_event

from conversations.access import get_conversation
from conversations.context.reliability import reliability_of
from conversations.instructions import conversation_settings
from conversations.messages import attachments
from conversations.messages.history import state_of, with_visible_parts
from conversations.models import Conversation, ModelProfile
from conversations.page import agent_fragments, agent_view, compacted_history, fragments
from conversations.page import thread as threads
from conversations.page.message_view import view_of
from conversations.page.meter import meter
from conversations.page.views.context import TABS
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of, moment
from conversations.page.views.sidebar import sidebar


@member
@never_cache
@require_GET
def chat(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    profile = conversation_settings.profile_of(conversation)
    measured, running = meter(conversation), fragments.busy(conversation)
    opened = request.GET.get("context", "")
    context = {
        "conversation": conversation,
        "opened": opened if opened in TABS else "",
        "sidebar": sidebar(request.user, current=conversation),
        "profile": profile,
        "is_demo": profile is not None and profile.provider == ModelProfile.Provider.BUILTIN,
        "pending": attachments.pending(conversation),
        "meter": measured,
        "flows": agent_fragments.flows(conversation, measured, oob=False),
        "running": running,
        "queue": fragments.queue(conversation),
        **fragments.progress_context(running),
        "trust": reliability_of(conversation),
        "links": site.PUBLIC_LINKS,
        **fragments.thread_context(conversation),
    }
    return render(request, "conversations/chat/chat.html", context)


@member
@never_cache
@require_GET
def thread(request: Request, pk: UUID) -> HttpResponse:
    """The items before `before`, the rows of a compacted group (`after`, `until`), or the changes since `version`."""
    conversation = get_conversation(request.user, pk)
    before, after, until = (moment(request.GET, name) for name in ("before", "after", "until"))
    if after and until:
        rows = compacted_history.rows(conversation, after=after, until=until)
        return render(request, "conversations/thread/_rows.html", {"rows": rows, "conversation": conversation})
    if before:
        page = threads.thread_page(conversation, before=before)
        return render(request, "conversations/thread/_items.html", {"page": page, "conversation": conversation})
    return _changes(conversation, request.GET)


def _changes(conversation: Conversation, values: QueryDict) -> HttpResponse:
    running, shown = fragments.busy(conversation), threads.shown_messages(conversation)
    known = values.get("version", "")
    if known == shown.version and not running and not threads.is_streaming(conversation):
        return HttpResponse(status=204)
    html = fragments.changed_since(shown, known) + fragments.title(conversation)
    if running:
        html += fragments.by_itself("#compression-status", fragments.status(conversation))
    return HttpResponse(html)


@member
@never_cache
@require_GET
def message(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """One message, or its `body` with its actions, for a compacted row that opens.

    A pending reply that polls has no socket, so the page must fetch the other changes too.
    """
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(with_visible_parts(conversation.messages.all()), pk=message_id)
    if "body" in request.GET:
        item = view_of(conversation, row)
        return render(request, "conversations/thread/_opened.html", {"item": item})
    waits = agent_view.waited_for(conversation) if row.is_streaming else ""
    response = HttpResponse(fragments.message(conversation, row, waits=waits))
    asks_for_itself = request.htmx.trigger == f"message-{message_id}"
    if asks_for_itself and (waits or not row.is_streaming):
        return trigger_client_event(response, "converge")
    return response


@member
@never_cache
@require_GET
def message_menu(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The menu of more actions for a message."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.messages, pk=message_id)
    context = {"message": row, "state": state_of(conversation, row)}
    return render(request, "conversations/thread/_acts_menu.html", context)


@member
@never_cache
@require_GET
def words(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """A message's stored text, without its files."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.messages.prefetch_related("attachments"), pk=message_id)
    return HttpResponse(attachments.words_of(row), content_type="text/plain; charset=utf-8")


@member
@never_cache
@require_GET
def thoughts(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The model's thoughts before a reply, when they are opened: pages do not carry them."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.messages.only("thoughts", "thought_tokens"), pk=message_id)
    return render(request, "conversations/thread/_thoughts.html", {"message": row})


@member
@never_cache
@require_GET
def status(request: Request, pk: UUID) -> HttpResponse:
    """The status of compaction; `was` is the compaction for which the page waited and whose end it missed."""
    conversation = get_conversation(request.user, pk)
    was = id_of(request.GET, "was")
    finished = conversation.compactions.filter(pk=was).first() if was else None
    response = HttpResponse(fragments.status(conversation, finished=finished))
    return trigger_client_event(response, "converge")
