"""The dialog by which a person shares a conversation, and the public page that others see."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from conversations import links
from conversations.access import get_conversation
from conversations.errors import Conflict, Refused
from conversations.exchange.imports import import_conversations
from conversations.messages.attachments import words_of
from conversations.messages.file_http import sent_out
from conversations.messages.history import with_parts
from conversations.models import Conversation, Link
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import moment

ON_A_PAGE = 100
"""The most messages on one page, the latest ones; a link leads to those before."""
UNKNOWN = gettext_noop("Somebody")
NO_WORDS = gettext_noop("[a file]")
"""The text of a message that is only a file, if files are not shared."""


@member
@never_cache
@require_http_methods(["GET", "POST"])
def link(request: Request, pk: UUID) -> HttpResponse:
    """The dialog of a conversation's link; a POST makes the link, in place of an earlier one."""
    links.require_allowed()
    conversation = get_conversation(request.user, pk)
    if request.method == "POST":
        return _dialog(request, conversation, links.make(conversation, links.chosen(request.POST)))
    return _dialog(request, conversation, links.link_of(conversation))


@member
@require_POST
def end(request: Request, pk: UUID) -> HttpResponse:
    """End the link; the dialog offers to make another."""
    conversation = get_conversation(request.user, pk)
    links.end(conversation)
    return _dialog(request, conversation, None)


@member
@never_cache
@require_GET
def preview(request: Request, pk: UUID) -> HttpResponse:
    """The page that others would see with these choices, before there is a link."""
    links.require_allowed()
    conversation = get_conversation(request.user, pk)
    unsaved = links.unsaved(conversation, links.chosen(request.GET))
    return page_of(request, unsaved, is_preview=True)


@never_cache
@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The public page of a link. Search engines are asked to leave it out, and it tells no other site its address."""
    found = links.found(token)
    if "before" not in request.GET and request.user.pk != found.conversation.owner_id:
        links.count_opening(found)
    try:
        return page_of(request, found)
    except Refused as refusal:
        return render(request, "error.html", {"message": refusal.without_field}, status=refusal.status)


@member
@require_POST
def go_on(request: Request, token: str) -> HttpResponse:
    """A chat of the reader that begins with the text of the link's messages, none of it as their own words."""
    found = links.found(token)
    lines = [
        {
            "role": row.role,
            "content": row.content if found.has_files else words_of(row) or gettext(NO_WORDS),
            "created_at": row.created_at.isoformat(),
        }
        for row in with_parts(links.messages_of(found))
    ]
    document = {"title": found.conversation.title, "messages": lines}
    (copied,) = import_conversations(request.user, json.dumps(document).encode())
    return redirect("chat", copied.pk)


@never_cache
@require_GET
def shared_file(request: HttpRequest, token: str, attachment_id: UUID) -> HttpResponse:
    """The bytes of a file that a link shows."""
    return _unlisted(sent_out(links.file_of(links.found(token), attachment_id)))


def _dialog(request: Request, conversation: Conversation, made: Link | None) -> HttpResponse:
    context = {
        "conversation": conversation,
        "link": made,
        "address": request.build_absolute_uri(reverse("shared", args=[made.token])) if made else "",
        "ends": [(value, gettext(label)) for value, (label, _) in links.ENDS.items()],
        "extents": Link.Extent.choices,
        "name": _name(conversation),
    }
    try:
        shown = made or links.unsaved(conversation, links.Choices())
    except Conflict as nothing:
        return render(request, "conversations/chat/_link.html", context | {"nothing": nothing.message})
    rows = links.messages_of(shown)
    return render(request, "conversations/chat/_link.html", context | {"shown": shown, "count": rows.count()})


def page_of(request: HttpRequest, shown: Link, *, is_preview: bool = False, **more: Any) -> HttpResponse:
    """The read-only page with the messages of a link."""
    rows, before = links.messages_of(shown), moment(request.GET, "before")
    count = rows.count()
    page = rows.filter(created_at__lt=before) if before else rows
    latest = list(with_parts(page.order_by("-created_at"))[: ON_A_PAGE + 1])
    context = {
        "link": shown,
        "conversation": shown.conversation,
        "items": latest[ON_A_PAGE - 1 :: -1],
        "count": count,
        "earlier": latest[ON_A_PAGE - 1].created_at if len(latest) > ON_A_PAGE else None,
        "name": _name(shown.conversation) if shown.has_name else "",
        "is_preview": is_preview,
        "choices": urlencode([(name, value) for name, value in request.GET.items() if name != "before"]),
    }
    return _unlisted(render(request, "shared.html", context | more))


def _name(conversation: Conversation) -> str:
    owner = conversation.owner
    return owner.get_full_name() or owner.get_username() or gettext(UNKNOWN)


def _unlisted(response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Referrer-Policy"] = "no-referrer"
    return response
