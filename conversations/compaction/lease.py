"""The row of a compaction as its lock: claimed by insert, renewed while someone works, refused once it is lost."""

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

from compression.core.error_codes import ErrorCode
from compression.core.values import Steering
from compression.ids import uuid7
from compression.leases import expiry
from compression.models import Compaction
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
"""The step of a row that another worker goes on with: this is done once."""
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
"""After which what no worker has taken up is not waited for any more."""
WATCH_SECONDS = 1.0
"""Between two looks of a worker at its row: whether it is still its own, and what it has to say of its progress."""
_watches: dict[UUID, Lease] = {}
"""Of the rows that workers of this process are at."""


RESULTS = (Compaction.Status.SUCCEEDED, Compaction.Status.READY)


def claim(conversation_id: UUID, *, trigger: str, steering: Steering, id: UUID | None = None) -> Compaction:
    """A pending row of our own. Raises Conflict, with the running one's id, where there is one already.

    Whoever may be cancelled meanwhile chooses the `id` before, so as to be able to `release` it.
    """
    id = id or uuid7()
    if trigger in BY_HAND:
        preempt(conversation_id)
    row = _inserted(id, conversation_id, trigger, steering)
    if row is None and active(conversation_id) is None:
        # The one that stood in the way has ended meanwhile, or was abandoned.
        row = _inserted(id, conversation_id, trigger, steering)
    if row is None:
        running = active(conversation_id)
        raise Conflict(
            "This conversation is being compacted already.",
            code="compaction_running",
            task_id=str(running.id) if running else None,
        )
    transaction.on_commit(partial(publish, conversation_id, EventType.COMPACTION_STARTED, **started_json(row)))
    return row


def _inserted(id: UUID, conversation_id: UUID, trigger: str, steering: Steering) -> Compaction | None:
    """The row, unless the constraint says that another one is active."""
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
        )
    return None


def active(conversation_id: UUID) -> Compaction | None:
    """The compaction that is pending or running; one whose worker is gone is taken up again or failed."""
    row = Compaction.objects.filter(conversation_id=conversation_id, status__in=Compaction.ACTIVE).first()
    now = timezone.now()
    if row is not None and row.is_abandoned(now) and not recover(row, now=now):
        return None
    return row


def expired(now: datetime) -> QuerySet[Compaction]:
    """Rows whose worker is gone."""
    return Compaction.objects.active().filter(lease_expires_at__lt=now)


def recover(row: Compaction, *, now: datetime) -> bool:
    """Have an abandoned row taken up again, where a person waits for it and that can help; else fail it."""
    waited_for = row.trigger in BY_HAND and row.created_at > now - GIVE_UP
    if waited_for and (row.status == Compaction.Status.PENDING or RESUMED not in row.steps):
        steps = row.steps if row.status == Compaction.Status.PENDING else [*row.steps, RESUMED]
        if unchanged(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=expiry(), steps=steps):
            queue.enqueue("compact", str(row.pk))
        return True
    with contextlib.suppress(LeaseLost):  # someone else has found it too
        finish(
            row, Compaction.Status.FAILED, among=unchanged(row), error=ABANDONED, error_code=ErrorCode.WORKER_STOPPED
        )
    return False


def hand_back(row: Compaction) -> None:
    """Its worker stops in good order, with nothing written: another is woken up, or the next sweep finds it."""
    if owned(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=timezone.now()):
        queue.enqueue("compact", str(row.pk))


def is_blocked(conversation_id: UUID) -> bool:
    """Whether a compaction is at it that others have to wait for."""
    row = active(conversation_id)
    return row is not None and row.trigger != Compaction.Trigger.AHEAD


def preempt(conversation_id: UUID) -> None:
    """Let what a person asks for go before what is only prepared: its worker finds that it has lost its lease."""
    rows = Compaction.objects.filter(
        conversation_id=conversation_id, trigger=Compaction.Trigger.AHEAD, status__in=Compaction.ACTIVE
    )
    found = rows.update(status=Compaction.Status.DISCARDED, error=PREEMPTED, finished_at=timezone.now())
    transaction.on_commit(partial(metrics.prepared_discarded, found))


def release(compaction_id: UUID, *, error: str, token: UUID | None = None) -> None:
    """Let go of a row that is pending, or ours by `token`: handed back where a person asked for it, else failed."""
    rows = Compaction.objects.filter(pk=compaction_id, status__in=Compaction.ACTIVE)
    row = rows.filter(Q(status=Compaction.Status.PENDING) | Q(lease_token=token)).first()
    if row is None:
        return
    if row.trigger in BY_HAND:
        hand_back(row)
        return
    with contextlib.suppress(LeaseLost):  # someone else has found it too
        finish(row, Compaction.Status.FAILED, error=error, error_code=ErrorCode.WORKER_STOPPED)


def start(compaction_id: UUID, token: UUID) -> Compaction | None:
    """Take up a pending row, which is ours by `token` then; None where another worker has, or where it is over."""
    rows = Compaction.objects.filter(pk=compaction_id)
    rows.filter(status=Compaction.Status.PENDING).update(
        status=Compaction.Status.RUNNING, lease_token=token, lease_expires_at=expiry(), started_at=timezone.now()
    )
    return rows.filter(lease_token=token).first()


def owned(row: Compaction) -> QuerySet[Compaction]:
    """The row, as long as nobody else has taken it over."""
    return Compaction.objects.filter(pk=row.pk, lease_token=row.lease_token, status__in=Compaction.ACTIVE)


def held(row: Compaction) -> QuerySet[Compaction]:
    """The row, as long as the lease is ours and has not run out: what every result goes through."""
    return owned(row).filter(lease_expires_at__gt=timezone.now())


def unchanged(row: Compaction) -> QuerySet[Compaction]:
    """The row, as long as its worker has not been heard of since it was read."""
    return owned(row).filter(lease_expires_at=row.lease_expires_at)


def finish(row: Compaction, status: str, *, among: QuerySet[Compaction] | None = None, **fields: Any) -> None:
    """End the row, if it is (`among` those that are) ours, and tell the page. Raises LeaseLost."""
    if among is None:
        among = held(row) if status in RESULTS else owned(row)
    fields |= {"status": status, "finished_at": timezone.now(), "stage": "", "percent": 100}
    fields.setdefault("duration_ms", int((fields["finished_at"] - row.created_at).total_seconds() * 1000))
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
    """Note how far the work is, and who is at it. Raises LeaseLost."""
    if not await sync_to_async(held(row).update)(stage=stage, percent=percent, summariser=summariser, **more):
        raise LeaseLost
    row.stage = stage
    _tell(row, percent)


def _tell(row: Compaction, percent: int) -> None:
    publish(row.conversation_id, EventType.COMPACTION_PROGRESS, **progress_json(row, percent))


def wake(compaction_id: UUID) -> None:
    """Have the worker of this process that is at a row, if any is, look at it now."""
    if kept := _watches.get(compaction_id):
        kept.wake()


@asynccontextmanager
async def renewed(row: Compaction, *, news: Callable[[], dict[str, Any]] = dict) -> AsyncIterator[None]:
    """Keep the lease for as long as the work takes; once it is lost the work is cut short, and LeaseLost raised.

    `news` gives the columns of the row that have changed since it was asked last.
    """
    work, has_cut = asyncio.current_task(), False
    assert work is not None
    kept = _watches[row.pk] = Lease(partial(held, row), f"compaction {row.pk}", look_seconds=WATCH_SECONDS)

    async def watch() -> None:
        nonlocal has_cut
        await kept.watch(news, partial(_tell_news, row))
        if row.is_active:  # else it is its worker that has ended it
            has_cut = True
            work.cancel()

    with log_context.bound(compaction_id=str(row.pk), conversation_id=str(row.conversation_id)):
        watching = asyncio.create_task(watch())
        try:
            yield
        except asyncio.CancelledError:
            if has_cut and work.cancelling() == 1:
                raise LeaseLost from None
            raise  # it is to end for another reason too
        finally:
            if _watches.get(row.pk) is kept:
                del _watches[row.pk]
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            if has_cut:
                work.uncancel()


def _tell_news(row: Compaction, changed: dict[str, Any]) -> None:
    if "percent" in changed:
        _tell(row, changed["percent"])
