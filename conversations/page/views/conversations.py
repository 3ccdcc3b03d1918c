"""The views that manage a conversation in the list: rename, pin, archive, delete, export and import."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Unpack
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from conversations.access import get_conversation, own_conversations, trashed_conversation
from conversations.context import settings
from conversations.errors import Invalid
from conversations.exchange import exports, imports, markdown
from conversations.exchange.document import Unread
from conversations.exchange.everything import everything
from conversations.models import Conversation
from conversations.page import fragments
from conversations.page.forms import ImportForm, cleaned
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar
from conversations.turns import conversations

MAX_TRASHED = 500
"""The most conversations that the page of the trash lists."""
MAX_NAMED_UNREAD = 5
"""The most unread conversations of a file that the notice of an import names."""


@member
@require_POST
def rename(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    title = settings.clean_title(request.POST.get("title", ""), allow_blank=False)
    settings.change(conversation, title=title)
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
    return render(request, "conversations/_trashed.html", {"trashed": [conversation]})


@member
@require_POST
def restore_trashed(request: Request, pk: UUID) -> HttpResponse:
    """Take a conversation out of the trash; the response is its line in the list."""
    conversation = trashed_conversation(request.user, pk)
    conversations.restore(conversation)
    return render(request, "conversations/_entry.html", {"entry": conversation})


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
    return render(request, "conversations/trash.html", context)


@member
@require_GET
def export(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    kind = request.GET.get("format", "json")
    match kind:
        case "json":
            response = HttpResponse(_json(exports.as_json(conversation)), content_type="application/json")
        case "md":
            response = HttpResponse(markdown.as_markdown(conversation), content_type="text/markdown; charset=utf-8")
        case _:
            raise Invalid("format: must be json or md.", field="format")
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
    response = StreamingHttpResponse(everything(user, only=only), content_type="application/zip")
    name = f"chatsite-{timezone.localdate().isoformat()}.zip"
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["X-Accel-Buffering"] = "no"
    return response


@member
@require_POST
def import_(request: Request) -> HttpResponse:
    """Import a file as new conversations. A single conversation opens; for several, the list shows their number."""
    file = cleaned(ImportForm(request.POST, request.FILES))["file"]
    try:
        imported = imports.import_conversations(request.user, file.read())
    except Invalid as refusal:
        raise Invalid(_refusal_with_place(refusal)) from None
    if len(imported.conversations) == 1 and not (imported.updated or imported.unread):
        target = reverse("chat", args=[imported.conversations[0].pk])
    else:
        target = reverse("home")
        messages.success(request, _import_notice(imported))
    return HttpResponseClientRedirect(target) if request.htmx else redirect(target)


def _change_and_list(request: Request, pk: UUID, **changes: Unpack[settings.Changes]) -> HttpResponse:
    """Apply the changes; the response is the list as the requesting page shows it, and its conversation's menu."""
    conversation = get_conversation(request.user, pk)
    settings.change(conversation, **changes)
    path, _, query = (request.htmx.current_url_abs_path or "").partition("?")
    current = _shown_at(path, request.user)
    context = {
        "sidebar": sidebar(request.user, current=current, archived="archived" in QueryDict(query)),
        "conversation": current,
    }
    return render(request, "conversations/_listed.html", context)


def _shown_at(path: str, user: AbstractBaseUser) -> Conversation | None:
    """The conversation shown by the page at `path`, if any."""
    try:
        pk = resolve(path).kwargs.get("pk")
    except Resolver404:
        return None
    return own_conversations(user).filter(pk=pk).first() if pk else None


def _refusal_with_place(refusal: Invalid) -> str:
    """The reason of a refused import, with the number of the faulty conversation in the file."""
    reason = refusal.message.removeprefix("file: ")
    reason = re.sub(r"\A\[(\d+)\][.:] ?", lambda place: f"conversation {int(place[1]) + 1} of the file: ", reason)
    return f"Nothing came in. {reason[:1].upper()}{reason[1:]}"


def _import_notice(imported: imports.Imported) -> str:
    came, carried, left_out = len(imported.conversations), sum(imported.messages), imported.skipped
    sentences = [f"{came:,} conversation{pluralize(came)} came in, with {carried:,} message{pluralize(carried)}."]
    if imported.updated:
        count, new = len(imported.updated), sum(new for _, new in imported.updated)
        sentences.append(f"{count:,} of an earlier import got {new:,} new message{pluralize(new)}.")
    if imported.unchanged:
        sentences.append(f"{imported.unchanged:,} {pluralize(imported.unchanged, 'was,were')} here already.")
    sentences += [_unread_notice(one) for one in imported.unread[:MAX_NAMED_UNREAD]]
    if (more := len(imported.unread) - MAX_NAMED_UNREAD) > 0:
        sentences.append(f"{more:,} more could not be read.")
    if left_out:
        sentences.append(f"{left_out:,} without a message {pluralize(left_out, 'was,were')} left out.")
    if came:
        sentences.append("The list has them by the date of their last change.")
    return " ".join(sentences)


def _unread_notice(one: Unread) -> str:
    """The reason why a conversation of a file did not come in, with its number in the file and its title."""
    number = int(one.place.strip("[]") or 0) + 1
    title = f" ({one.title[:60]})" if one.title else ""
    return f"Conversation {number:,} of the file{title} did not: {one.reason}"


def is_open(request: Request, pk: UUID) -> bool:
    """Whether the requesting page shows this conversation."""
    return (request.htmx.current_url_abs_path or "").startswith(reverse("chat", args=[pk]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
