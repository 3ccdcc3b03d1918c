"""/memory/: all that a person's chats keep of their rules, preferences, decisions and corrections, in one list."""

from __future__ import annotations

import json
from uuid import UUID

from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from conversations import preferences
from conversations.access import own_conversations
from conversations.context.kept_entries import STANDING
from conversations.errors import Conflict, Invalid
from conversations.instructions import conversation_settings as settings
from conversations.instructions import ledger, ledger_entries
from conversations.models import LedgerEntry, Message
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar
from conversations.runtime.payloads import entry_json

ON_A_PAGE = 100
"""The most entries on one page, the latest ones."""
MAX_QUERY_CHARS = 200
State = LedgerEntry.State
STATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "in_force": (gettext_noop("In force"), (State.IN_FORCE,)),
    "noted": (gettext_noop("Noted"), (State.NOTED,)),
    "kept": (gettext_noop("In all chats"), STANDING),
    "past": (gettext_noop("Past"), (State.SUPERSEDED, State.DISMISSED)),
}
"""The lists of the page, each with its label and the states of its entries."""


@member
@never_cache
@require_GET
def remembered(request: Request) -> HttpResponse:
    """The entries of one list, the latest first, with those that contain the words of a search."""
    shown = request.GET.get("state", "")
    shown = shown if shown in STATES else "in_force"
    query = request.GET.get("q", "").replace("\0", "").strip()[:MAX_QUERY_CHARS]
    rows = _matching(request, query)
    listed = _with_last_reply(_list(rows, shown)).select_related("conversation__project")
    context = {
        "sidebar": sidebar(request.user),
        "shown": shown,
        "query": query,
        "lists": [(name, _(label), _list(rows, name).count()) for name, (label, _states) in STATES.items()],
        "remembers": preferences.preference_of(request.user).remembers,
        "page": Paginator(listed.order_by("-said_at", "-pk"), ON_A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "conversations/projects/remembered.html", context)


@member
@require_POST
def choose_remembered(request: Request, entry_id: UUID) -> HttpResponse:
    """Put an entry in force, note it or dismiss it, by `state`; the entry as it is now."""
    row = get_object_or_404(_own(request).select_related("conversation"), pk=entry_id)
    if "kept" in request.POST:
        entry = ledger.keep(row.conversation, row.pk, on=bool(request.POST["kept"]))
    else:
        entry = ledger.choose(row.conversation, row.pk, state=request.POST.get("state", ""))
    entry.conversation = row.conversation
    return render(request, "conversations/projects/_remembered.html", {"entry": entry, "is_new": True})


@member
@require_POST
def reword(request: Request, entry_id: UUID) -> HttpResponse:
    """Put other words in the place of a rule in force, which they supersede; the rule as it is now.

    Raises Conflict for an entry that is not in force, and Invalid for words that no rule may have.
    """
    row = get_object_or_404(_own(request).select_related("conversation__model"), pk=entry_id)
    conversation, text = row.conversation, " ".join(request.POST.get("words", "").split())
    if not text:
        raise Invalid(_("words: must not be empty."), field="words")
    with transaction.atomic():
        rules = list(ledger_entries.in_force(conversation.pk).values_list("text", flat=True))
        if row.text not in rules:
            raise Conflict(_("This is no longer in force. Load the page again."), code="not_in_force")
        settings.change(conversation, rules=[text if rule == row.text else rule for rule in rules])
    entry = ledger_entries.in_force(conversation.pk).get(text=text)
    entry.conversation = conversation
    return render(request, "conversations/projects/_remembered.html", {"entry": entry, "is_new": True})


@member
@never_cache
@require_GET
def export_remembered(request: Request) -> HttpResponse:
    """All entries as a JSON file, each with its chat."""
    rows = _own(request).select_related("conversation").order_by("said_at", "pk")
    entries = [
        entry_json(row) | {"conversation": {"id": str(row.conversation_id), "title": row.conversation.title}}
        for row in rows.iterator(chunk_size=500)
    ]
    response = HttpResponse(json.dumps(entries, ensure_ascii=False, indent=2), content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="chatsite-memory.json"'
    return response


@member
@require_POST
def remember_person(request: Request) -> HttpResponse:
    """Switch the memory of all chats outside of projects on (`on` given) or off; the page as it is now."""
    preferences.change(request.user, remembers="on" in request.POST)
    return HttpResponseClientRefresh()


def _list(rows: QuerySet[LedgerEntry], name: str) -> QuerySet[LedgerEntry]:
    """The entries of one of STATES."""
    listed = rows.filter(state__in=STATES[name][1])
    return listed.filter(kept_for__isnull=False) if name == "kept" else listed


def _with_last_reply(rows: QuerySet[LedgerEntry]) -> QuerySet[LedgerEntry]:
    """The entries with `last_reply` and `last_sent`: the latest reply of their chat whose request had them, if any.

    An entry that stands is part of each request of its chat: in its message, and quoted once that is compacted.
    """
    replies = Message.objects.filter(
        conversation=OuterRef("conversation"),
        role=Message.Role.ASSISTANT,
        replaced_by=None,
        created_at__gt=OuterRef("said_at"),
    ).order_by("-created_at")
    latest = {"last_reply": "pk", "last_sent": "created_at"}
    return rows.annotate(**{name: Subquery(replies.values(column)[:1]) for name, column in latest.items()})


def _own(request: Request) -> QuerySet[LedgerEntry]:
    """The entries of the person's chats, without those in the trash."""
    return LedgerEntry.objects.filter(conversation__in=own_conversations(request.user), is_withdrawn=False)


def _matching(request: Request, query: str) -> QuerySet[LedgerEntry]:
    rows = _own(request)
    for word in query.split():
        rows = rows.filter(Q(text__icontains=word) | Q(conversation__title__icontains=word))
    return rows
