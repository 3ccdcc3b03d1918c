"""Discards a summary that was prepared ahead of time for a state of the conversation that has changed."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from compression.models import Compaction
from conversations.runtime import metrics

OUTDATED = "The conversation changed before this was needed."


def discard_ready(conversation_id: UUID) -> None:
    """Discard the conversation's prepared compaction, if any."""
    rows = Compaction.objects.filter(conversation_id=conversation_id, status=Compaction.Status.READY)
    discarded = rows.update(status=Compaction.Status.DISCARDED, error=OUTDATED, prepared=None)
    transaction.on_commit(partial(metrics.prepared_discarded, discarded))
