"""The row of a compaction as its lock: claimed by insert, renewed while someone works, refused once it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from compression.core.values import Steering
from compression.ids import uuid7
from compression.models import LEASE, Compaction
from conversations.errors import Conflict
from conversations.events import publish

logger = logging.getLogger(__name__)

RENEW_SECONDS = 15
BY_HAND = (Compaction.Trigger.MANUAL, Compaction.Trigger.API)
PREEMPTED = "A compaction that a person asked for went before it."
OUTDATED = "The conversation changed before this was needed."
ABANDONED = "The worker stopped before it was done."


class LeaseLost(Exception):
    """Someone else may be at work by now: nothing that was computed under the lease may be written."""


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
            "This conversation is being compressed already.",
            code="compaction_running",
            task_id=str(running.id) if running else None,
        )
    transaction.on_commit(
        partial(
            publish,
            conversation_id,
            "compression.started",
            id=str(row.id),
            trigger=trigger,
            blocking=trigger != Compaction.Trigger.AHEAD,
        )
    )
    return row


def _inserted(id: UUID, conversation_id: UUID, trigger: str, steering: Steering) -> Compaction | None:
    """The row, unless the constraint says that another one is active."""
    asked = {key: value for key, value in asdict(steering).items() if value not in (None, "")}
    with contextlib.suppress(IntegrityError), transaction.atomic():
        return Compaction.objects.create(
            id=id,
            conversation_id=conversation_id,
            trigger=trigger,
            steering=asked,
            lease_expires_at=timezone.now() + LEASE,
        )
    return None


def active(conversation_id: UUID) -> Compaction | None:
    """The compaction that is pending or running; one whose worker is gone is failed here and now."""
    row = Compaction.objects.filter(conversation_id=conversation_id, status__in=Compaction.ACTIVE).first()
    if row is not None and row.is_abandoned(timezone.now()):
        release(row.pk, error=ABANDONED)
        return None
    return row


def is_blocked(conversation_id: UUID) -> bool:
    """Whether a compaction is at it that others have to wait for."""
    row = active(conversation_id)
    return row is not None and row.trigger != Compaction.Trigger.AHEAD


def preempt(conversation_id: UUID) -> None:
    """Let what a person asks for go before what is only prepared: its worker finds that it has lost its lease."""
    Compaction.objects.filter(
        conversation_id=conversation_id, trigger=Compaction.Trigger.AHEAD, status__in=Compaction.ACTIVE
    ).update(status=Compaction.Status.DISCARDED, error=PREEMPTED, finished_at=timezone.now())


def discard_ready(conversation_id: UUID) -> None:
    """What was prepared will not be put in force."""
    Compaction.objects.filter(conversation_id=conversation_id, status=Compaction.Status.READY).update(
        status=Compaction.Status.DISCARDED, error=OUTDATED, prepared=None
    )


def release(compaction_id: UUID, *, error: str) -> None:
    """Fail a row that nobody works on; nothing where it has ended, or never came to be."""
    row = Compaction.objects.filter(pk=compaction_id, status__in=Compaction.ACTIVE).first()
    if row is not None:
        with contextlib.suppress(LeaseLost):  # someone else has found it too
            finish(row, Compaction.Status.FAILED, error=error)


def start(compaction_id: UUID) -> Compaction | None:
    """Take up a pending row; None where another worker has, or where it is over."""
    now = timezone.now()
    taken = Compaction.objects.filter(pk=compaction_id, status=Compaction.Status.PENDING).update(
        status=Compaction.Status.RUNNING, lease_expires_at=now + LEASE
    )
    return Compaction.objects.get(pk=compaction_id) if taken else None


def held(row: Compaction) -> QuerySet[Compaction]:
    """The row, as long as the lease is ours: what every write goes through."""
    return Compaction.objects.filter(pk=row.pk, lease_token=row.lease_token, status__in=Compaction.ACTIVE)


def finish(row: Compaction, status: str, **fields: Any) -> None:
    """End the row and tell the page. Raises LeaseLost."""
    fields |= {"status": status, "finished_at": timezone.now(), "stage": "", "percent": 100}
    fields.setdefault("duration_ms", int((fields["finished_at"] - row.created_at).total_seconds() * 1000))
    if not held(row).update(**fields):
        raise LeaseLost
    transaction.on_commit(partial(_ended, row, fields))


def _ended(row: Compaction, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
    publish(
        row.conversation_id,
        "compression.completed",
        id=str(row.pk),
        status=row.status,
        before=row.pre_tokens,
        after=row.post_tokens,
        error=row.error or None,
    )


async def advance(row: Compaction, stage: str, percent: int) -> None:
    """Note how far the work is. Raises LeaseLost."""
    if not await sync_to_async(held(row).update)(stage=stage, percent=percent):
        raise LeaseLost
    publish(row.conversation_id, "compression.progress", id=str(row.pk), stage=stage, percent=percent)


@asynccontextmanager
async def renewed(row: Compaction) -> AsyncIterator[None]:
    """Keep the lease for as long as the work takes."""
    heartbeat = asyncio.create_task(_renew(row))
    try:
        yield
    finally:
        heartbeat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heartbeat


async def _renew(row: Compaction) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await sync_to_async(held(row).update)(lease_expires_at=timezone.now() + LEASE)
        except DatabaseError:
            logger.exception("the lease of compaction %s could not be renewed", row.pk)
