"""Deletes a conversation with everything that belongs to it."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.turns.stop import stop


def delete(conversation: Conversation) -> None:
    """Stop the running reply and delete the conversation, under its row's lock so that nothing is added meanwhile."""
    stop(conversation)
    with transaction.atomic():
        for locked in Conversation.objects.select_for_update().filter(pk=conversation.pk):
            list(Conversation.objects.select_for_update().filter(parent=locked).values_list("pk"))
            locked.delete()
            transaction.on_commit(partial(publish, conversation.pk, EventType.RESYNC))
