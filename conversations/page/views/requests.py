"""What the model saw, and what it sees next: the exact request of a past turn beside another, and the coming one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models.functions import Left
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.access import CHATS, get_conversation, readable_conversation
from conversations.context import replay
from conversations.context.next_request import build_next_request
from conversations.context.replay import Changes, Replayed
from conversations.context.request_parts import Part
from conversations.models import Conversation, Message
from conversations.page.meter import meter, price, shares
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of
from conversations.page.views.sidebar import sidebar

SHOWN = 500
"""Parts on one page: the first two, which say what stands for the past, and the latest."""
FOLDED = 600
"""Characters from which on a part is folded."""
OFFERED = 100
"""Turns before and after this one that it can be compared with by the list."""


@dataclass(frozen=True, slots=True)
class Row:
    """`cost` is in US dollars, None where that is not known."""

    part: Part
    is_new: bool = False
    cost: Decimal | None = None

    @property
    def is_long(self) -> bool:
        return len(self.part.text) > FOLDED


@member
@never_cache
@require_GET
def what_was_sent(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """For one reply; compared with that of `against`, or of the turn before."""
    conversation = readable_conversation(request.user, pk)
    replayed = replay.replay(conversation, message_id)
    earlier = replay.previous(replayed.reply)
    against = id_of(request.GET, "against") or (earlier and earlier.pk)
    other = replay.replay(conversation, against) if against else None
    changes = replay.compare(other, replayed) if other else None
    context: dict[str, Any] = _shown(replayed, changes) | {
        "conversation": conversation,
        "is_own": conversation.owner_id == request.user.pk,
        "is_chat": conversation.kind in CHATS,
        "turns": _turns(conversation, replayed.reply, other),
        "against": other and other.reply,
        "chosen": "against" in request.GET,  # by the list, which keeps the focus
        "at_recalled": request.GET.get("at") == "recalled",
    }
    if request.htmx:
        return render(request, "conversations/_request.html", context)
    is_listed = context["is_own"] and context["is_chat"]
    listed = sidebar(request.user, current=conversation if is_listed else None)
    return render(request, "conversations/request.html", context | {"sidebar": listed})


@member
@never_cache
@require_GET
def next_request(request: Request, pk: UUID) -> HttpResponse:
    """What will be sent, but for the message that is not written yet."""
    conversation = get_conversation(request.user, pk)
    coming = build_next_request(conversation)
    parts, hidden = _in_part(coming.parts)
    context = {
        "conversation": conversation,
        "is_own": True,
        "is_chat": True,
        "coming": coming,
        "meter": meter(conversation),
        "rows": [Row(part, cost=price(conversation, part.tokens)) for part in parts],
        "hidden": hidden,
    }
    if request.htmx:
        return render(request, "conversations/_next.html", context)
    listed = sidebar(request.user, current=conversation)
    return render(request, "conversations/next.html", context | {"sidebar": listed})


def _in_part(parts: Sequence[Part]) -> tuple[Sequence[Part], int]:
    """What is shown of them, and how many are not."""
    hidden = max(0, len(parts) - SHOWN)
    return ((*parts[:2], *parts[hidden + 2 :]) if hidden else parts), hidden


def _shown(replayed: Replayed, changes: Changes | None) -> dict[str, Any]:
    new = {id(part) for part in changes.added} if changes else set()
    parts, hidden = _in_part(replayed.parts)
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


def _turns(conversation: Conversation, reply: Message, other: Replayed | None) -> list[Message]:
    """Those around it, the latest first, and the one that it is compared with."""
    rows = replay.noted_replies(conversation).annotate(opening=Left("content", 60)).only("created_at", "conversation")
    later = rows.filter(created_at__gt=reply.created_at).order_by("created_at")[:OFFERED]
    earlier = rows.filter(created_at__lt=reply.created_at).order_by("-created_at")[:OFFERED]
    found: list[Message] = [*reversed(later), *earlier]
    if other and other.reply.pk not in {row.pk for row in found} | {reply.pk}:
        found += rows.filter(pk=other.reply.pk)
    return found
