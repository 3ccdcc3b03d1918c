"""The replies of one turn: each but the last called tools, and the next one was asked for with their results."""

from __future__ import annotations

from conversations.models import Message

Role = Message.Role
MAX_REPLIES = 100
"""Replies of one turn: as many as all the workers that may go on with it can write."""


def next_of(reply: Message) -> Message | None:
    """The one that was asked for with what this one's tools gave; None where it was the last."""
    later = Message.objects.filter(conversation_id=reply.conversation_id, created_at__gt=reply.created_at)
    following = later.filter(replaced_by=reply.replaced_by_id).order_by("created_at").first()
    return following if following and following.role == Role.ASSISTANT else None


def replies_of_turn(reply: Message) -> list[Message]:
    """A reply and those of its turn that came after it, in order, with their calls: two queries."""
    later = Message.objects.filter(conversation_id=reply.conversation_id, created_at__gte=reply.created_at)
    found: list[Message] = []
    rows = later.filter(replaced_by=reply.replaced_by_id).order_by("created_at").prefetch_related("tool_calls")
    for row in rows[:MAX_REPLIES]:
        if row.role != Role.ASSISTANT:
            break
        found.append(row)
        if not row.tool_calls.all():
            break
    return found
