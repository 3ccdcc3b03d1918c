"""Moves conversations to the trash and back, and deletes them with everything that belongs to them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.turns.stop import stop

TRASH_DAYS = 30
"""Days after which a conversation in the trash is deleted."""


def trash(conversation: Conversation) -> None:
    """Stop the running reply and move the conversation, with the threads of its executors, to the trash."""
    stop(conversation)
    _with_threads(conversation).update(trashed_at=timezone.now())
    publish(conversation.pk, EventType.RESYNC)


def restore(conversation: Conversation) -> None:
    """Take the conversation out of the trash."""
    _with_threads(conversation).update(trashed_at=None)


def purge() -> None:
    """Delete conversations that have been in the trash for TRASH_DAYS."""
    before = timezone.now() - timedelta(days=TRASH_DAYS)
    for conversation in Conversation.objects.filter(trashed_at__lt=before, parent=None).iterator():
        delete(conversation)


def delete(conversation: Conversation) -> None:
    """Stop the running reply and delete the conversation, under its row's lock so that nothing is added meanwhile."""
    stop(conversation)
    with transaction.atomic():
        for locked in Conversation.objects.select_for_update().filter(pk=conversation.pk):
            list(Conversation.objects.select_for_update().filter(parent=locked).values_list("pk"))
            locked.delete()
            transaction.on_commit(partial(publish, conversation.pk, EventType.RESYNC))


def _with_threads(conversation: Conversation) -> QuerySet[Conversation]:
    return Conversation.objects.filter(Q(pk=conversation.pk) | Q(parent=conversation.pk))
