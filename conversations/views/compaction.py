"""One compression: what was written beside what it was written from."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from compression.models import Compaction
from conversations.access import get_conversation
from conversations.models import Conversation, Message
from conversations.views.guard import Request, member
from conversations.views.sidebar import sidebar

SOURCES = 1_000
"""Messages shown beside a summary; their number is said in any case."""


@member
@never_cache
@require_GET
def compaction(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    context = {
        "conversation": conversation,
        "compaction": row,
        # Its other checkpoints are older ones, made shorter.
        "checkpoints": row.checkpoints.order_by("-number")[:1],
        "sources": _sources(conversation, row),
    }
    if request.htmx:
        return render(request, "conversations/_compaction.html", context)
    return render(
        request, "conversations/compaction.html", context | {"sidebar": sidebar(request.user, current=conversation)}
    )


def _sources(conversation: Conversation, row: Compaction) -> list[Message]:
    """The messages of the covered range, in order."""
    ends = dict(
        conversation.messages.filter(pk__in=[row.first_message, row.last_message]).values_list("pk", "created_at")
    )
    if row.first_message not in ends or row.last_message not in ends:
        return []
    covered = conversation.messages.filter(
        replaced_by=None, created_at__gte=ends[row.first_message], created_at__lte=ends[row.last_message]
    )
    return list(covered.order_by("created_at")[:SOURCES])
