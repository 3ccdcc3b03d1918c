"""Cancels a compaction, whichever process runs it: its row is ended, so its worker can commit nothing any more.

The worker notices the lost lease within `lease.WATCH_SECONDS`, at once if it runs in this process, and closes the
connection to its model.
"""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from compression.models import Compaction
from conversations.compaction import lease
from conversations.errors import Conflict
from conversations.models import Message
from conversations.runtime.lease import LeaseLost

CANCELLED = "It was cancelled: nothing has changed."


def cancel(row: Compaction) -> None:
    """End a compaction with nothing changed. Raises Conflict if it has already ended or been committed."""
    if not _cancelled(row):
        row.refresh_from_db()
        raise Conflict(
            _("This compaction has already ended: %(status)s.") % {"status": row.status},
            code="compaction_over",
            status=row.status,
        )


def cancel_waited_for(conversation_id: UUID) -> None:
    """Cancel the compactions that a pending reply waits for: the conversation's own and those of its executors.

    Ahead-of-time compactions go on: no reply waits for them.
    """
    if not Message.objects.streaming().filter(conversation_id=conversation_id).exists():
        return
    for row in _of(conversation_id).filter(status__in=Compaction.ACTIVE).exclude(trigger=Compaction.Trigger.AHEAD):
        _cancelled(row)


def _of(conversation_id: UUID) -> QuerySet[Compaction]:
    return Compaction.objects.filter(Q(conversation=conversation_id) | Q(conversation__parent=conversation_id))


def _cancelled(row: Compaction) -> bool:
    among = Compaction.objects.filter(pk=row.pk, status__in=Compaction.ACTIVE)
    try:
        with transaction.atomic():
            lease.finish(row, Compaction.Status.CANCELLED, among=among, error=CANCELLED)
            transaction.on_commit(partial(lease.wake, row.pk))
    except LeaseLost:
        return False
    return True
