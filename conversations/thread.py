"""A conversation as it is read: folds of the past with their dividers, then the live messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from conversations import past
from conversations.bubbles import bubble, history
from conversations.models import Conversation, Message
from conversations.past import REACH, Item

LIMIT = 60
"""Live messages of one page."""


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Items oldest to newest; `earlier` is the `before` of the page in front of it (None: there is none)."""

    items: tuple[Item, ...]
    earlier: datetime | None = None


def page(conversation: Conversation, *, before: datetime | None = None, limit: int = LIMIT) -> ThreadPage:
    """The newest part of the thread, or what precedes `before`. The number of queries is constant."""
    live = _live(conversation, before, limit)
    placed, since = past.dividers(conversation)
    present: list[Item] = [bubble(conversation, message) for message in reversed(live[:limit])]
    if not before:
        present = [*since, *present]
    if len(live) > limit:
        return ThreadPage(tuple(present), live[limit - 1].created_at)
    keys = past.keys_of(conversation, before)
    earlier = keys[REACH - 1].created_at if keys[REACH:] else None
    return ThreadPage((*past.items(conversation, keys[:REACH], placed), *present), earlier)


def version(conversation: Conversation) -> str:
    """Changes with everything that the thread shows, but for the text of a reply that is being written."""
    last = history(conversation).order_by("-created_at").values_list("id", "status").first() or ("", "")
    return f"{conversation.updated_at.timestamp()}-{conversation.compression_version}-{last[0]}-{last[1]}"


def later(conversation: Conversation, message: Message) -> int:
    """How many messages of the history come after it."""
    return history(conversation).filter(created_at__gt=message.created_at).count()


def is_streaming(conversation: Conversation) -> bool:
    last = conversation.messages.order_by("-created_at").values_list("status", flat=True).first()
    return last == Message.Status.STREAMING


def _live(conversation: Conversation, before: datetime | None, limit: int) -> list[Message]:
    """Newest first, and one more than `limit` where there are more."""
    messages = history(conversation).order_by("-created_at").prefetch_related("tool_calls")
    if conversation.compressed_at:
        messages = messages.filter(created_at__gt=conversation.compressed_at)
    if before:
        messages = messages.filter(created_at__lt=before)
    return list(messages[: limit + 1])
