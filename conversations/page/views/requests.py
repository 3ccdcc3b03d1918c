"""The pages that show the exact request of a past reply, compared with another one, and the next request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models.functions import Left
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.access import CHATS, TO_READ, get_conversation, readable_conversation
from conversations.memory.citations import unsupported_in_force
from conversations.memory.facts_kept import facts_kept
from conversations.models import Conversation, Message
from conversations.page import fragments
from conversations.page.meter import meter, price, shares
from conversations.page.passages import passages_of
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of
from conversations.page.views.sidebar import sidebar
from conversations.requests import replay
from conversations.requests.next_request import build_next_request
from conversations.requests.replay import Changes, Replayed
from conversations.requests.request_parts import Part

SHOWN = 500
"""The most parts on one page: the first two, which hold system prompt and summary, and the latest."""
MAX_OPEN_CHARS = 600
"""The most characters of a part that is not shown collapsed."""
MAX_LISTED_TURNS = 100
"""The most turns before, and after, the shown turn in the list for comparison."""


@dataclass(frozen=True, slots=True)
class Row:
    """A part of a request; `cost` is in US dollars, None if unknown."""

    part: Part
    is_new: bool = False
    cost: Decimal | None = None

    @property
    def is_long(self) -> bool:
        return len(self.part.text) > MAX_OPEN_CHARS


@member
@never_cache
@require_GET
def what_was_sent(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The request of one reply, compared with the request of `against`, or of the previous turn."""
    conversation = readable_conversation(request.user, pk)
    replayed = replay.replay(conversation, message_id)
    earlier = replay.previous(replayed.reply)
    against = id_of(request.GET, "against") or (earlier and earlier.pk)
    other = replay.replay(conversation, against) if against else None
    changes = replay.compare(other, replayed) if other else None
    context: dict[str, Any] = _request_context(replayed, changes) | {
        "conversation": conversation,
        "is_own": conversation.owner_id == request.user.pk,
        "is_chat": conversation.kind in CHATS,
        "turns": _comparable_turns(conversation, replayed.reply, other),
        "against": other and other.reply,
        "chosen": "against" in request.GET,  # by the list, which keeps the focus
        "at_recalled": request.GET.get("at") == "recalled",
    }
    if request.htmx:
        return render(request, "conversations/requests/_request.html", context)
    is_listed = context["is_own"] and context["is_chat"]
    listed = sidebar(request.user, current=conversation if is_listed else None)
    return render(request, "conversations/requests/request.html", context | {"sidebar": listed})


@member
@never_cache
@require_GET
def recalled(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """The passages that were recalled for a reply, when they are opened: pages do not carry them."""
    conversation = readable_conversation(request.user, pk)
    asked = conversation.messages.filter(request__recalled__isnull=False)
    reply = get_object_or_404(asked.only("request", "conversation"), pk=message_id)
    context = {
        "conversation": conversation,
        "message": reply,
        "passages": passages_of(reply),
        "is_own": conversation.owner_id == request.user.pk and conversation.kind in CHATS,
    }
    return render(request, "conversations/thread/_recalled.html", context)


@member
@never_cache
@require_GET
def next_request(request: Request, pk: UUID) -> HttpResponse:
    """The next request, without the message that is yet to be written."""
    conversation = get_conversation(request.user, pk)
    coming = build_next_request(conversation)
    parts, hidden = _limited(coming.parts)
    context = {
        "conversation": conversation,
        "is_own": True,
        "is_chat": True,
        "coming": coming,
        "meter": meter(conversation, with_forecast=False),
        "facts": facts_kept(conversation),
        "unsupported": unsupported_in_force(conversation),
        "rows": [Row(part, cost=price(conversation, part.tokens)) for part in parts],
        "hidden": hidden,
    }
    if request.htmx:
        return render(request, "conversations/requests/_next.html", context)
    listed = sidebar(request.user, current=conversation)
    return render(request, "conversations/requests/next.html", context | {"sidebar": listed})


@member
@never_cache
@require_GET
def meter_with_forecast(request: Request, pk: UUID) -> HttpResponse:
    """The meter, with the forecast of a compaction by hand."""
    return HttpResponse(fragments.meter(get_conversation(request.user, pk)))


@member
@never_cache
@require_GET
def facts(request: Request, pk: UUID) -> HttpResponse:
    """The line of the meter with the number of compacted facts that the next request contains."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    context = {"facts": facts_kept(conversation), "unsupported": unsupported_in_force(conversation)}
    return render(request, "conversations/compactions/_facts_kept.html", context)


def _limited(parts: Sequence[Part]) -> tuple[Sequence[Part], int]:
    """The parts to show, and the number of hidden parts."""
    hidden = max(0, len(parts) - SHOWN)
    return ((*parts[:2], *parts[hidden + 2 :]) if hidden else parts), hidden


def _request_context(replayed: Replayed, changes: Changes | None) -> dict[str, Any]:
    new = {id(part) for part in changes.added} if changes else set()
    parts, hidden = _limited(replayed.parts)
    return {
        "replayed": replayed,
        "reply": replayed.reply,
        "noted": replayed.noted,
        "shares": shares(replayed.shares, replayed.noted["window"]),
        "rows": [Row(part, id(part) in new) for part in parts],
        "hidden": hidden,
        "changes": changes,
        "added": sum(part.tokens for part in changes.added) if changes else 0,
        "removed": [Row(part) for part in changes.removed[-SHOWN:]] if changes else [],
        "removed_tokens": sum(part.tokens for part in changes.removed) if changes else 0,
    }


def _comparable_turns(conversation: Conversation, reply: Message, other: Replayed | None) -> list[Message]:
    """The replies around `reply`, latest first, and the reply that it is compared with."""
    rows = replay.noted_replies(conversation).annotate(opening=Left("content", 60)).only("created_at", "conversation")
    later = rows.filter(created_at__gt=reply.created_at).order_by("created_at")[:MAX_LISTED_TURNS]
    earlier = rows.filter(created_at__lt=reply.created_at).order_by("-created_at")[:MAX_LISTED_TURNS]
    turns: list[Message] = [*reversed(later), *earlier]
    if other and other.reply.pk not in {row.pk for row in turns} | {reply.pk}:
        turns += rows.filter(pk=other.reply.pk)
    return turns
