"""Other ways on from a message: asked anew, answered anew, or gone on with in a conversation of its own."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import escape
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget, trigger_client_event

from conversations import branches, compaction, continuing, forks, slash
from conversations import thread as threads
from conversations.access import get_conversation
from conversations.bubbles import bubble
from conversations.errors import Invalid, Refused
from conversations.models import Conversation, Message
from conversations.templatetags.chat import words
from conversations.views.guard import Request, member


@member
@require_POST
def regenerate(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """A new reply in place of this one; asked for once more (`sure`) where later messages leave with it."""
    conversation = get_conversation(request.user, pk)
    row = _in_history(conversation, message_id, Message.Role.ASSISTANT)
    later = threads.later(conversation, row)
    if later and "sure" not in request.POST:
        context = {"item": bubble(conversation, row), "later": later}
        response = render(request, "conversations/_sure.html", context)
        return reswap(retarget(response, f"#acts-{row.pk}"), "innerHTML")
    branches.regenerate(conversation, row.pk)
    return _converged()


@member
@require_POST
def go_on(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The rest of a reply that ended before it was whole."""
    continuing.go_on(get_conversation(request.user, pk), message_id)
    return _converged()


@member
@never_cache
@require_http_methods(["GET", "POST"])
def edit(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The form in place of the words; then a new question in their place. What is refused is told in the form."""
    conversation = get_conversation(request.user, pk)
    row = _in_history(conversation, message_id, Message.Role.USER)
    if request.method == "GET":
        context = {"item": bubble(conversation, row), "later": threads.later(conversation, row)}
        return render(request, "conversations/_edit.html", context)
    try:
        content = request.POST.get("content", "").replace("\r\n", "\n")
        if compaction.command(content) is not None:
            raise Invalid("/compact is no message: write it in the box below.", field="content")
        slash.require_text(content)
        branches.edit(conversation, row.pk, content=content)
    except Refused as refusal:
        response = HttpResponse(escape(words(refusal)), status=refusal.status)
        return reswap(retarget(response, f"#refused-{row.pk}"), "innerHTML")
    return _converged()


@member
@require_POST
def fork(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """A copy up to this message, which opens."""
    return _opened(forks.fork(get_conversation(request.user, pk), message_id))


@member
@require_POST
def fresh(request: Request, pk: UUID) -> HttpResponse:
    """A new conversation that begins with the summary of this one."""
    return _opened(forks.fresh(get_conversation(request.user, pk)))


def _in_history(conversation: Conversation, message_id: UUID, role: str) -> Message:
    return get_object_or_404(conversation.messages, pk=message_id, role=role, replaced_by=None)


def _opened(conversation: Conversation) -> HttpResponse:
    return HttpResponseClientRedirect(reverse("chat", args=[conversation.pk]))


def _converged() -> HttpResponse:
    """Open pages are told by their sockets; this one asks for itself too, in case its own is down."""
    return trigger_client_event(HttpResponse(status=204), "converge")
