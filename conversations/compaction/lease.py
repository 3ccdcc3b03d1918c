"""Uses a compaction's row as its lock: claimed by an insert, renewed by its worker, refused once the lease is lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core.error_codes import ErrorCode
from compression.core.values import Steering
from compression.ids import uuid7
from compression.leases import expiry
from compression.models import Compaction, next_moment
from conversations.compaction import after_undo
from conversations.compiled_query import EXAMPLE_ID, PreparedObjects
from conversations.context.policy import flow_of
from conversations.errors import Conflict
from conversations.models import Conversation
from conversations.runtime import log_context, metrics, queue
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.runtime.lease import Lease, LeaseLost
from conversations.runtime.payloads import completed_json, progress_json, started_json

logger = logging.getLogger(__name__)

BY_HAND = (Compaction.Trigger.MANUAL, Compaction.Trigger.API)
PREEMPTED = "A compaction that a person asked for went before it."
ABANDONED = "The worker stopped before it was done."
RESUMED = {"summariser": "", "action": "taken up again after its worker had stopped"}
"""The step that marks a row as taken up by another worker, which happens once at most."""
ANEW: dict[str, Any] = {
    "status": Compaction.Status.PENDING,
    "stage": "",
    "percent": 0,
    "parts": 0,
    "parts_done": 0,
    "eta_ms": None,
    "started_at": None,
}
GIVE_UP = timedelta(minutes=10)
"""Age at which work without a worker is failed instead of being taken up again."""
WATCH_SECONDS = 1.0
"""Interval at which a worker checks that its row is still its own, and stores its progress."""
_watches: dict[UUID, Lease] = {}
"""The leases of the rows that this process is working on, by row id."""


RESULTS = (Compaction.Status.SUCCEEDED, Compaction.Status.READY)


def claim(conversation_id: UUID, *, trigger: str, steering: Steering, id: UUID | None = None) -> Compaction:
    """Insert a pending row. Raises Conflict, with the active row's id, if there is an active one already.

    A caller that may be cancelled meanwhile chooses the `id` itself, so that it can `release` the row.
    """
    id = id or uuid7()
    if trigger in BY_HAND:
        preempt(conversation_id)
        after_undo.resume(conversation_id)
    row = _inserted(id, conversation_id, trigger, steering)
    if row is None and active(conversation_id) is None:
        # The row that was in the way has ended meanwhile, or was abandoned and is failed now.
        row = _inserted(id, conversation_id, trigger, steering)
    if row is None:
        running = active(conversation_id)
        raise Conflict(
            _("This conversation is already being compacted."),
            code="compaction_running",
            task_id=str(running.id) if running else None,
        )
    transaction.on_commit(partial(publish, conversation_id, EventType.COMPACTION_STARTED, **started_json(row)))
    return row


def _inserted(id: UUID, conversation_id: UUID, trigger: str, steering: Steering) -> Compaction | None:
    """Insert the row; None if the constraint refuses it because another one is active."""
    asked = {key: value for key, value in asdict(steering).items() if value not in (None, "")}
    with contextlib.suppress(IntegrityError), transaction.atomic():
        kind = Conversation.objects.filter(pk=conversation_id).values_list("kind", flat=True).first()
        return Compaction.objects.create(
            id=id,
            conversation_id=conversation_id,
            flow=flow_of(kind or ""),
            trigger=trigger,
            steering=asked,
            lease_expires_at=expiry(),
            created_at=next_moment(Compaction.objects.filter(conversation_id=conversation_id)),
        )
    return None


def active(conversation_id: UUID) -> Compaction | None:
    """The pending or running compaction, if any; an abandoned one is taken up again or failed first."""
    row = _ACTIVE.first(conversation=conversation_id)
    now = timezone.now()
    if row is not None and row.is_abandoned(now) and not recover(row, now=now):
        return None
    return row


_ACTIVE = PreparedObjects(
    lambda conversation: Compaction.objects.filter(conversation_id=conversation, status__in=Compaction.ACTIVE),
    conversation=(Conversation._meta.get_field("id"), EXAMPLE_ID),
)
"""The query of `active`, compiled: every fetch of a page runs it."""


def expired(now: datetime) -> QuerySet[Compaction]:
    """Active rows whose lease has expired, as their worker is gone."""
    return Compaction.objects.active().filter(lease_expires_at__lt=now)


def recover(row: Compaction, *, now: datetime) -> bool:
    """Queue an abandoned row again if a person waits for it and it was not queued again before; else fail it.

    True if it is taken up again.
    """
    waited_for = row.trigger in BY_HAND and row.created_at > now - GIVE_UP
    if waited_for and (row.status == Compaction.Status.PENDING or RESUMED not in row.steps):
        steps = row.steps if row.status == Compaction.Status.PENDING else [*row.steps, RESUMED]
        if unchanged(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=expiry(), steps=steps):
            queue.enqueue("compact", str(row.pk))
        return True
    with contextlib.suppress(LeaseLost):  # another process has ended the row meanwhile
        finish(
            row, Compaction.Status.FAILED, among=unchanged(row), error=ABANDONED, error_code=ErrorCode.WORKER_STOPPED
        )
    return False


def hand_back(row: Compaction) -> None:
    """Make the row pending again, as its worker is stopping: another worker is woken up, or the next sweep finds it."""
    if owned(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=timezone.now()):
        queue.enqueue("compact", str(row.pk))


def is_blocked(conversation_id: UUID) -> bool:
    """Whether a compaction is active that others must wait for; they do not wait for an ahead-of-time one."""
    row = active(conversation_id)
    return row is not None and row.trigger != Compaction.Trigger.AHEAD


def preempt(conversation_id: UUID) -> None:
    """Discard an active ahead-of-time compaction in favour of a person's request; its worker loses the lease."""
    rows = Compaction.objects.filter(
        conversation_id=conversation_id, trigger=Compaction.Trigger.AHEAD, status__in=Compaction.ACTIVE
    )
    found = rows.update(status=Compaction.Status.DISCARDED, error=PREEMPTED, finished_at=timezone.now())
    transaction.on_commit(partial(metrics.prepared_discarded, found))


def release(compaction_id: UUID, *, error: str, token: UUID | None = None) -> None:
    """Give up a row that is pending or held by `token`: hand it back if a person asked for it, else fail it."""
    rows = Compaction.objects.filter(pk=compaction_id, status__in=Compaction.ACTIVE)
    row = rows.filter(Q(status=Compaction.Status.PENDING) | Q(lease_token=token)).first()
    if row is None:
        return
    if row.trigger in BY_HAND:
        hand_back(row)
        return
    with contextlib.suppress(LeaseLost):  # another process has ended the row meanwhile
        finish(row, Compaction.Status.FAILED, error=error, error_code=ErrorCode.WORKER_STOPPED)


def start(compaction_id: UUID, token: UUID) -> Compaction | None:
    """Take up a pending row with `token` as its lease; None if another worker has taken it or it has ended."""
    rows = Compaction.objects.filter(pk=compaction_id)
    rows.filter(status=Compaction.Status.PENDING).update(
        status=Compaction.Status.RUNNING, lease_token=token, lease_expires_at=expiry(), started_at=timezone.now()
    )
    return rows.filter(lease_token=token).first()


def owned(row: Compaction) -> QuerySet[Compaction]:
    """The active row, if no other worker has taken it over."""
    return Compaction.objects.filter(pk=row.pk, lease_token=row.lease_token, status__in=Compaction.ACTIVE)


def held(row: Compaction) -> QuerySet[Compaction]:
    """The active row, if our lease has not expired; every result is written through this query."""
    return owned(row).filter(lease_expires_at__gt=timezone.now())


def unchanged(row: Compaction) -> QuerySet[Compaction]:
    """The active row, if its lease was not renewed since it was read."""
    return owned(row).filter(lease_expires_at=row.lease_expires_at)


def finish(row: Compaction, status: str, *, among: QuerySet[Compaction] | None = None, **fields: Any) -> None:
    """End the row if it is in `among` (default: if it is ours) and publish that. Raises LeaseLost."""
    if among is None:
        among = held(row) if status in RESULTS else owned(row)
    now = timezone.now()
    fields |= {"status": status, "finished_at": now, "stage": "", "percent": 100}
    # The clock may have been set back since: no duration is below zero.
    fields.setdefault("duration_ms", max(0, (now - row.created_at) // timedelta(milliseconds=1)))
    if not among.update(**fields):
        raise LeaseLost
    transaction.on_commit(partial(_ended, row, fields))


def _ended(row: Compaction, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
    metrics.compaction_ended(row)
    logger.info("compaction ended", extra=log_context.compaction_fields(row))
    publish(row.conversation_id, EventType.COMPACTION_COMPLETED, **completed_json(row))


async def advance(row: Compaction, stage: str, percent: int, *, summariser: str, **more: Any) -> None:
    """Store the stage, the percent and the current summariser, and publish them. Raises LeaseLost."""
    if not await sync_to_async(held(row).update)(stage=stage, percent=percent, summariser=summariser, **more):
        raise LeaseLost
    row.stage = stage
    _publish_progress(row, percent)


def _publish_progress(row: Compaction, percent: int) -> None:
    publish(row.conversation_id, EventType.COMPACTION_PROGRESS, **progress_json(row, percent))


def wake(compaction_id: UUID) -> None:
    """Have this process check the row's lease now, if it is working on that row."""
    if kept := _watches.get(compaction_id):
        kept.wake()


@asynccontextmanager
async def renewed(row: Compaction, *, news: Callable[[], dict[str, Any]] = dict) -> AsyncIterator[None]:
    """Renew the lease while the block runs; if it is lost, the block is cancelled and LeaseLost raised.

    `news` returns the columns of the row that have changed since its last call.
    """
    work, has_cut = asyncio.current_task(), False
    assert work is not None
    kept = _watches[row.pk] = Lease(partial(held, row), f"compaction {row.pk}", look_seconds=WATCH_SECONDS)

    async def watch() -> None:
        nonlocal has_cut
        await kept.watch(news, partial(_publish_changes, row))
        if row.is_active:  # otherwise the worker itself has ended the row
            has_cut = True
            work.cancel()

    with log_context.bound(compaction_id=str(row.pk), conversation_id=str(row.conversation_id)):
        watching = asyncio.create_task(watch())
        try:
            yield
        except asyncio.CancelledError:
            if has_cut and work.cancelling() == 1:
                raise LeaseLost from None
            raise  # the task was cancelled for another reason too
        finally:
            if _watches.get(row.pk) is kept:
                del _watches[row.pk]
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            if has_cut:
                work.uncancel()


def _publish_changes(row: Compaction, changed: dict[str, Any]) -> None:
    if "percent" in changed:
        _publish_progress(row, changed["percent"])
