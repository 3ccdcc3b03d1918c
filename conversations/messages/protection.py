"""Protects messages: a protected message is sent verbatim, wherever it stands in the conversation."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from conversations.errors import NotFound
from conversations.models import Conversation, Message
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish


@transaction.atomic
def protect(conversation: Conversation, message_id: UUID, *, on: bool) -> Message:
    """Protect a message, or remove its protection. Raises NotFound.

    A message that is part of the summary already is sent beside it once it is protected. A message that loses its
    protection stays verbatim until the next compaction summarises it. The result of a running compaction is discarded,
    as it may have summarised the message.
    """
    rows = Conversation.objects.filter(pk=conversation.pk)
    rows.update(compression_version=F("compression_version") + 1)
    message = Message.objects.filter(conversation=conversation, pk=message_id, replaced_by=None).first()
    if message is None:
        raise NotFound(_("No such message."))
    message.is_protected = on
    message.save(update_fields=["is_protected"])
    conversation.refresh_from_db()
    cut, verbatim = conversation.compressed_at, conversation.verbatim_ids
    if on and cut and message.created_at <= cut and str(message.pk) not in verbatim:
        conversation.verbatim_ids = [*verbatim, str(message.pk)]
        rows.update(verbatim_ids=conversation.verbatim_ids)
    transaction.on_commit(lambda: publish(conversation.pk, EventType.RESYNC))
    return message
