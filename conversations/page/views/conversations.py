"""The views that manage a conversation in the list: rename, pin, archive, delete, export and import."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Unpack
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpResponse, JsonResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from conversations.access import get_conversation, own_conversations, trashed_conversation
from conversations.errors import Invalid
from conversations.exchange import exports, imports, markdown
from conversations.exchange.export_all import everything
from conversations.instructions import conversation_settings
from conversations.models import Conversation
from conversations.page import fragments
from conversations.page.forms import ImportForm, cleaned
from conversations.page.html_export import as_html
from conversations.page.views.guard import Request, member, requesting_page
from conversations.page.views.sidebar import sidebar
from conversations.runtime import audit
from conversations.turns import conversations

MAX_TRASHED = 500
"""The most conversations that the page of the trash lists."""


@member
@never_cache
@require_GET
def entry_menu(request: Request, pk: UUID) -> HttpResponse:
    """The menu of the conversation in the list."""
    entry = get_conversation(request.user, pk)
    return render(request, "conversations/chat/_manage.html", {"entry": entry, "target": "closest li"})


@member
@require_POST
def rename(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    title = conversation_settings.clean_title(request.POST.get("title", ""), allow_blank=False)
    conversation_settings.change(conversation, title=title)
    return HttpResponse(fragments.title(conversation, headed=is_open(request, pk)))


@member
@require_POST
def pin(request: Request, pk: UUID) -> HttpResponse:
    """Pin the conversation to the top of the list (`on` given), or unpin it."""
    return _change_and_list(request, pk, pinned="on" in request.POST)


@member
@require_POST
def archive(request: Request, pk: UUID) -> HttpResponse:
    """Move the conversation to the archive (`on` given), or back. New messages do not unarchive it."""
    return _change_and_list(request, pk, archived="on" in request.POST)


@member
@require_POST
def delete_conversation(request: Request, pk: UUID) -> HttpResponse:
    """Move the conversation to the trash. A page that shows it goes home; each page offers Undo in its list."""
    conversation = get_conversation(request.user, pk)
    conversations.trash(conversation)
    if is_open(request, pk):
        return HttpResponseClientRedirect(f"{reverse('home')}?trashed={pk}")
    return render(request, "conversations/list/_trashed.html", {"trashed": [conversation]})


@member
@require_POST
def restore_trashed(request: Request, pk: UUID) -> HttpResponse:
    """Take a conversation out of the trash; the response is its line in the list."""
    conversation = trashed_conversation(request.user, pk)
    conversations.restore(conversation)
    return render(request, "conversations/list/_entry.html", {"entry": conversation})


@member
@require_POST
def delete_trashed(request: Request, pk: UUID) -> HttpResponse:
    """Delete a conversation in the trash for good."""
    conversations.delete(trashed_conversation(request.user, pk))
    return HttpResponse()


@member
@require_POST
def empty_trash(request: Request) -> HttpResponse:
    """Delete all of a person's conversations in the trash for good."""
    for conversation in own_conversations(request.user, trashed=True):
        conversations.delete(conversation)
    return HttpResponseClientRedirect(reverse("trash"))


@member
@never_cache
@require_GET
def trash(request: Request) -> HttpResponse:
    """The person's conversations in the trash, the latest first."""
    rows = (
        own_conversations(request.user, trashed=True).only("id", "title", "kind", "trashed_at").order_by("-trashed_at")
    )
    context = {"trashed": rows[:MAX_TRASHED], "days": conversations.TRASH_DAYS, "sidebar": sidebar(request.user)}
    return render(request, "conversations/list/trash.html", context)


@member
@require_GET
def export(request: Request, pk: UUID) -> HttpResponseBase:
    """A conversation as a file of a `format`, or as a page that opens the browser's dialog to print."""
    conversation = get_conversation(request.user, pk)
    kind = request.GET.get("format", "json")
    audit.note(audit.Action.EXPORTED, request.user, f"conversation {pk}")
    response: HttpResponseBase
    match kind:
        case "json":
            response = HttpResponse(_json(exports.as_json(conversation)), content_type="application/json")
        case "md":
            response = HttpResponse(markdown.as_markdown(conversation), content_type="text/markdown; charset=utf-8")
        case "html":
            response = HttpResponse(as_html(conversation))
        case "print":
            return HttpResponse(as_html(conversation, to_print=True))
        case _:
            raise Invalid("format: must be json, md, html or print.", field="format")
    name = f"{slugify(conversation.title) or 'conversation'}.{kind}"
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response


@member
@require_GET
def export_everything(request: Request) -> StreamingHttpResponse:
    """All of a person's conversations as one zip, written as it is downloaded."""
    return as_zip(request.user)


def as_zip(user: AbstractBaseUser, only: Sequence[Conversation] | None = None) -> StreamingHttpResponse:
    """The person's conversations, all of them or `only` these, as a zip."""
    subject = "everything" if only is None else f"{len(only)} conversations"
    audit.note(audit.Action.EXPORTED, user, subject)
    response = StreamingHttpResponse(everything(user, only=only), content_type="application/zip")
    name = f"chatsite-{timezone.localdate().isoformat()}.zip"
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["X-Accel-Buffering"] = "no"
    return response


@member
@never_cache
@require_http_methods(["GET", "POST"])
def import_(request: Request) -> HttpResponse:
    """The page of imports. Its script posts a file, and the answer lists the imported and the unread conversations."""
    if request.method == "GET":
        return render(request, "conversations/list/import.html", {"sidebar": sidebar(request.user)})
    form = ImportForm(request.POST, request.FILES)
    file = cleaned(form)["file"]
    try:
        imported = imports.import_conversations(request.user, file.read(), form.beside())
    except Invalid as refusal:
        raise Invalid(_refusal_with_place(refusal)) from None
    first = next(iter(imported.conversations), None)
    return JsonResponse(
        {
            "made": len(imported.conversations),
            "messages": sum(imported.messages),
            "updated": len(imported.updated),
            "unchanged": imported.unchanged,
            "skipped": imported.skipped,
            "unread": [
                {"number": int(one.place.strip("[]") or 0), "title": one.title[:60], "reason": one.reason}
                for one in imported.unread
            ],
            "place": reverse("chat", args=[first.pk]) if first else "",
        }
    )


def _change_and_list(request: Request, pk: UUID, **changes: Unpack[conversation_settings.Changes]) -> HttpResponse:
    """Apply the changes; the response is the list as the requesting page shows it, and its conversation's menu."""
    conversation = get_conversation(request.user, pk)
    conversation_settings.change(conversation, **changes)
    path, _, query = requesting_page(request).partition("?")
    current = _shown_at(path, request.user)
    context = {
        "sidebar": sidebar(request.user, current=current, archived="archived" in QueryDict(query)),
        "conversation": current,
    }
    return render(request, "conversations/list/_listed.html", context)


def _shown_at(path: str, user: AbstractBaseUser) -> Conversation | None:
    """The conversation shown by the page at `path`, if any."""
    try:
        pk = resolve(path).kwargs.get("pk")
    except Resolver404:
        return None
    return own_conversations(user).filter(pk=pk).first() if pk else None


def _refusal_with_place(refusal: Invalid) -> str:
    """The reason of a refused import, without the number of the conversation in the part that was sent."""
    reason = re.sub(r"\A\[\d+\][.:] ?", "", refusal.message.removeprefix("file: "))
    return f"{reason[:1].upper()}{reason[1:]}"


def is_open(request: Request, pk: UUID) -> bool:
    """Whether the requesting page shows this conversation."""
    return requesting_page(request).startswith(reverse("chat", args=[pk]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
