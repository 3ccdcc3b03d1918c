"""Reads the replies of one turn: each but the last called tools, and the next one was requested with their results."""

from __future__ import annotations

from conversations.models import Message

Role = Message.Role
MAX_REPLIES = 100
"""The most replies of one turn: as many as all workers that may take it up can write."""


def next_of(reply: Message) -> Message | None:
    """The reply requested with the results of this reply's tools; None if this is the turn's last one."""
    later = Message.objects.filter(conversation_id=reply.conversation_id, created_at__gt=reply.created_at)
    following = later.filter(replaced_by=reply.replaced_by_id).order_by("created_at").first()
    return following if following and following.role == Role.ASSISTANT else None


def replies_of_turn(reply: Message) -> list[Message]:
    """A reply and the later ones of its turn, in order, with their tool calls: two queries."""
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
