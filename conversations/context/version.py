"""The state that a summary was prepared for: what changes it discards what is prepared."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from compression.models import Compaction
from conversations.runtime import metrics

OUTDATED = "The conversation changed before this was needed."


def discard_ready(conversation_id: UUID) -> None:
    """What was prepared will not be put in force."""
    rows = Compaction.objects.filter(conversation_id=conversation_id, status=Compaction.Status.READY)
    found = rows.update(status=Compaction.Status.DISCARDED, error=OUTDATED, prepared=None)
    transaction.on_commit(partial(metrics.prepared_discarded, found))
