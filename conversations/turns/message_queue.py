"""The queue of a conversation: messages that are sent in order, each when the reply before it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from conversations.compiled_query import EXAMPLE_ID, PreparedObjects
from conversations.errors import Conflict, NotFound, Refused
from conversations.messages.pastes import Pasted
from conversations.models import Conversation, Message, QueuedMessage
from conversations.runtime import queue
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.turns.begin import BegunTurn, begin, checked

MAX_QUEUED = 20
"""The most messages that wait in a conversation."""
WAITS = ("reply_running", "rate_limited", "busy")
"""Codes of refusals after which a message goes on waiting."""


def is_writing(conversation_id: UUID) -> bool:
    """Whether a reply is being written in the conversation."""
    return Message.objects.filter(conversation=conversation_id, status=Message.Status.STREAMING).exists()


def add(
    conversation: Conversation,
    *,
    content: str,
    shown: str,
    client_id: str = "",
    pastes: Sequence[Pasted] = (),
    pasted: Sequence[str] = (),
) -> QueuedMessage:
    """Store a message at the end of the queue. The same `client_id` again returns the first row.

    Raises Invalid, Conflict (no model is set, the queue is full) or TooLarge, as for a message that is sent at once.
    """
    checked(conversation, content, pastes=pastes, pasted=pasted)
    with transaction.atomic():
        if not list(Conversation.objects.select_for_update().filter(pk=conversation.pk).values_list("pk")):
            raise NotFound(_("No such conversation."))
        waiting = queued(conversation.pk)
        if client_id and (again := next((row for row in waiting if row.client_id == client_id), None)):
            return again
        if len(waiting) >= MAX_QUEUED:
            raise Conflict(_("At most %(most)s messages can wait in a chat.") % {"most": MAX_QUEUED}, code="queue_full")
        row = QueuedMessage.objects.create(
            conversation=conversation,
            client_id=client_id,
            content=content,
            shown=shown,
            pastes=[[one.number, one.start, one.length] for one in pastes],
            pasted=list(pasted),
        )
    changed(conversation.pk)
    go_on(conversation.pk)  # the reply may have ended meanwhile
    return row


def queued(conversation: UUID) -> list[QueuedMessage]:
    """The messages that wait in a conversation, first to last."""
    return _QUEUED.all(conversation=conversation)


_QUEUED = PreparedObjects(
    lambda conversation: QueuedMessage.objects.filter(conversation=conversation),
    conversation=(Conversation._meta.pk, EXAMPLE_ID),
)
"""The query of `queued`, compiled: every page and every fetch of its changes runs it."""


def take(conversation: Conversation, queued_id: UUID) -> QueuedMessage:
    """Remove a message from the queue and return it. Raises NotFound: it was sent or removed meanwhile."""
    row = QueuedMessage.objects.filter(conversation=conversation, pk=queued_id).first()
    if row is None or not QueuedMessage.objects.filter(pk=row.pk).delete()[0]:
        raise NotFound(_("This message is no longer in the queue: it was sent or removed."))
    changed(conversation.pk)
    return row


def go_on(conversation_id: UUID) -> None:
    """Have the first message of the queue sent in the background; pages are notified if it waits for its owner."""
    if not QueuedMessage.objects.filter(conversation=conversation_id).exists():
        return
    if _is_over(conversation_id):
        queue.enqueue("send_queued", str(conversation_id))
    else:
        changed(conversation_id)


def go_on_everywhere() -> None:
    """Send the next message in all conversations with a queue whose last reply is complete: a worker may have stopped
    there.
    """
    last = Message.objects.filter(conversation=OuterRef("conversation")).order_by("-created_at")
    first = QueuedMessage.objects.filter(error="").exclude(
        Exists(Message.objects.filter(conversation=OuterRef("conversation"), status=Message.Status.STREAMING))
    )
    rows = first.annotate(ended=last.values("status")[:1]).filter(ended=Message.Status.COMPLETE)
    for conversation_id in rows.values_list("conversation", flat=True).order_by("conversation").distinct():
        queue.enqueue("send_queued", str(conversation_id))


def send_next(conversation_id: UUID, *, anyway: bool = False) -> BegunTurn | None:
    """Send the first message of the queue; None if it has to wait.

    It waits after a reply that was stopped or failed, until its owner has it sent (`anyway`). A message that is refused
    for good keeps its error. Two callers at once send it once: it is stored by its id.
    """
    row = QueuedMessage.objects.filter(conversation=conversation_id).select_related("conversation").first()
    if row is None or (not anyway and (row.error or not _is_over(conversation_id))):
        return None
    pastes = [Pasted(*place) for place in row.pastes]
    try:
        begun = begin(row.conversation, content=row.content, client_id=str(row.pk), pastes=pastes, pasted=row.pasted)
    except Refused as refusal:
        if refusal.code not in WAITS:
            QueuedMessage.objects.filter(pk=row.pk).update(error=refusal.message)
            changed(conversation_id)
        return None
    QueuedMessage.objects.filter(pk=row.pk).delete()
    changed(conversation_id)
    return begun


def changed(conversation_id: UUID) -> None:
    """Tell open pages that the queue has changed."""
    publish(conversation_id, EventType.QUEUE_UPDATED)


def _is_over(conversation_id: UUID) -> bool:
    """Whether the conversation's last reply is complete."""
    last = Message.objects.filter(conversation=conversation_id, replaced_by=None).order_by("-created_at")
    return last.values_list("status", flat=True).first() in (None, Message.Status.COMPLETE)
