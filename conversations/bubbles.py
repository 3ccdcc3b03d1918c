"""One message as it is read, and how it stands to what the model is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import QuerySet, prefetch_related_objects

from conversations import turn
from conversations.models import Conversation, Message

PARTS = ("tool_calls", "attachments", "pastes")
State = Literal["live", "compressed", "protected", "replaced"]


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message in full; `text` is what has streamed so far, or its content."""

    message: Message
    state: State
    text: str
    elided: bool = False
    """Sent, but for its tool results."""

    template = "conversations/_message.html"

    @property
    def says_something(self) -> bool:
        """In words, or by a picture."""
        return bool(self.text or self.message.attachments.all())


def bubble(conversation: Conversation, message: Message) -> Bubble:
    text = turn.text_so_far(message) if message.is_streaming else message.content
    state = state_of(conversation, message)
    return Bubble(
        message, state, text, elided=str(message.pk) in conversation.elided and state in ("live", "protected")
    )


def state_of(conversation: Conversation, message: Message) -> State:
    """How a message stands now."""
    if message.replaced_by_id:
        return "replaced"
    return state_at(conversation, message.id, message.created_at, message.is_protected)


def state_at(conversation: Conversation, id: UUID, created_at: datetime, is_protected: bool) -> State:
    """The same of one that is known by these alone, and was not replaced."""
    if is_protected:
        return "protected"
    cut = conversation.compressed_at
    return "compressed" if cut and created_at <= cut and str(id) not in conversation.verbatim_ids else "live"


def history(conversation: Conversation) -> QuerySet[Message]:
    """All that was not replaced, unfinished replies too."""
    return Message.objects.filter(conversation=conversation, replaced_by=None)


def whole(rows: QuerySet[Message]) -> QuerySet[Message]:
    """With all that a bubble shows of them, in a constant number of queries; files without their bytes."""
    return rows.prefetch_related(*PARTS)


def complete(message: Message) -> None:
    """The same for one that was read, or stored just now."""
    prefetch_related_objects([message], *PARTS)


def know(message: Message, **parts: list[Any]) -> Message:
    """As if these parts of it had been read: for one that was stored just now, and is known to have no others."""
    message.__dict__.setdefault("_prefetched_objects_cache", {}).update(parts)
    return message
