"""The views that branch at a message: regenerate or continue a reply, edit a question, or fork the conversation."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget, trigger_client_event

from conversations.access import get_conversation
from conversations.compaction import compaction
from conversations.errors import Invalid, Refused
from conversations.instructions import conversation_settings
from conversations.llm.profiles import chat_profiles
from conversations.messages.pastes import parse_pasted
from conversations.models import Conversation, Message
from conversations.page import thread as threads
from conversations.page.message_view import view_of
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of
from conversations.turns import branches, continue_reply, forks, slash_commands

EDITED_ELSEWHERE = "This message was edited or replaced elsewhere. Copy your text, then load the page again."


@member
@require_POST
def regenerate(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Replace a reply by a new one, of another `model` if one is given, which answers from now on.

    Asks for confirmation (`sure`) if later messages are removed too.
    """
    conversation = get_conversation(request.user, pk)
    row = _in_history(conversation, message_id, Message.Role.ASSISTANT)
    later = threads.later(conversation, row)
    if later and ("sure" not in request.POST or _came_since(request, conversation)):
        context = {
            "item": view_of(conversation, row),
            "later": later,
            "seen": threads.newest(conversation),
            "model": request.POST.get("model", ""),
        }
        response = render(request, "conversations/thread/_sure.html", context)
        return reswap(retarget(response, f"#acts-{row.pk}"), "innerHTML")
    if "model" in request.POST:
        conversation_settings.change(
            conversation, model=conversation_settings.chosen_profile(request.user, request.POST["model"])
        )
    branches.regenerate(conversation, row.pk)
    return _fetch_changes()


@member
@never_cache
@require_GET
def regenerate_with(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The models that can write another reply."""
    conversation = get_conversation(request.user, pk)
    context = {
        "conversation": conversation,
        "message": _in_history(conversation, message_id, Message.Role.ASSISTANT),
        "models": chat_profiles(request.user.pk),
        "profile": conversation_settings.profile_of(conversation),
    }
    return render(request, "conversations/thread/_regenerate_with.html", context)


@member
@require_POST
def go_on(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Request the rest of a reply that ended before it was complete."""
    continue_reply.go_on(get_conversation(request.user, pk), message_id)
    return _fetch_changes()


@member
@never_cache
@require_http_methods(["GET", "POST"])
def edit(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Show the edit form, or replace the question by its new text. A refusal is shown in the form.

    The form asks for confirmation if messages were added since it was shown.
    """
    conversation = get_conversation(request.user, pk)
    if request.method == "GET":
        row = _in_history(conversation, message_id, Message.Role.USER)
        context = {"item": view_of(conversation, row), "later": threads.later(conversation, row)}
        return render(request, "conversations/thread/_edit.html", context | {"seen": threads.newest(conversation)})
    row = get_object_or_404(conversation.messages, pk=message_id, role=Message.Role.USER)
    if row.replaced_by_id:
        return _in_form(row, HttpResponse(EDITED_ELSEWHERE, status=409))
    if came := _came_since(request, conversation):
        context = {"came": came, "seen": threads.newest(conversation)}
        return _in_form(row, render(request, "conversations/thread/_came_since.html", context, status=409))
    try:
        content = request.POST.get("content", "").replace("\r\n", "\n")
        if compaction.command(content) is not None:
            raise Invalid(_("/compact is a command, not a message: write it in the box below."), field="content")
        slash_commands.require_text(content)
        pasted = parse_pasted(request.POST.get("pasted", "[]"))
        branches.edit(conversation, row.pk, content=content, pasted=pasted)
    except Refused as refusal:
        return _in_form(row, HttpResponse(escape(refusal.without_field), status=refusal.status))
    return _fetch_changes()


@member
@require_POST
def fork(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Copy the conversation up to this message, and open the copy."""
    return _open_conversation(forks.fork(get_conversation(request.user, pk), message_id))


@member
@require_POST
def fresh(request: Request, pk: UUID) -> HttpResponse:
    """Open a new conversation that begins with the summary of this one."""
    return _open_conversation(forks.fresh(get_conversation(request.user, pk)))


def _in_history(conversation: Conversation, message_id: UUID, role: str) -> Message:
    return get_object_or_404(conversation.messages, pk=message_id, role=role, replaced_by=None)


def _in_form(row: Message, response: HttpResponse) -> HttpResponse:
    """The response, shown in the message's edit form."""
    return reswap(retarget(response, f"#refused-{row.pk}"), "innerHTML")


def _came_since(request: Request, conversation: Conversation) -> int:
    """The number of messages that were added since the form was shown."""
    return threads.later_than_seen(conversation, id_of(request.POST, "seen"))


def _open_conversation(conversation: Conversation) -> HttpResponse:
    return HttpResponseClientRedirect(reverse("chat", args=[conversation.pk]))


def _fetch_changes() -> HttpResponse:
    """An empty response that makes the page fetch its changes, in case its socket is down."""
    return trigger_client_event(HttpResponse(status=204), "converge")
