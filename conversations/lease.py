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
from django.db import DatabaseError, IntegrityError, InterfaceError, close_old_connections, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from compression.core.values import Steering
from compression.ids import uuid7
from compression.leases import beat_seconds, expiry
from compression.models import Compaction
from conversations import background, logged, metrics
from conversations.errors import Conflict
from conversations.events import publish
from conversations.flows import flow_of
from conversations.models import Conversation

logger = logging.getLogger(__name__)

BY_HAND = (Compaction.Trigger.MANUAL, Compaction.Trigger.API)
PREEMPTED = "A compaction that a person asked for went before it."
OUTDATED = "The conversation changed before this was needed."
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
_watches: dict[UUID, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}
"""Of the rows that workers of this process are at."""


RESULTS = (Compaction.Status.SUCCEEDED, Compaction.Status.READY)


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


def active_rows() -> QuerySet[Compaction]:
    """Of all conversations. Spelt out, so that SQLite too sees that the index of active ones covers it."""
    return Compaction.objects.extra(where=["compression_compaction.status IN ('pending', 'running')"])


def expired(now: datetime) -> QuerySet[Compaction]:
    """Rows whose worker is gone."""
    return active_rows().filter(lease_expires_at__lt=now)


def recover(row: Compaction, *, now: datetime) -> bool:
    """Have an abandoned row taken up again, where a person waits for it and that can help; else fail it."""
    waited_for = row.trigger in BY_HAND and row.created_at > now - GIVE_UP
    if waited_for and (row.status == Compaction.Status.PENDING or RESUMED not in row.steps):
        steps = row.steps if row.status == Compaction.Status.PENDING else [*row.steps, RESUMED]
        if unchanged(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=expiry(), steps=steps):
            background.enqueue("compact", str(row.pk))
        return True
    with contextlib.suppress(LeaseLost):  # someone else has found it too
        finish(row, Compaction.Status.FAILED, among=unchanged(row), error=ABANDONED)
    return False


def hand_back(row: Compaction) -> None:
    """Its worker stops in good order, with nothing written: another is woken up, or the next sweep finds it."""
    if owned(row).update(**ANEW, lease_token=uuid7(), lease_expires_at=timezone.now()):
        background.enqueue("compact", str(row.pk))


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
    transaction.on_commit(partial(metrics.prepared_in_vain, found))


def discard_ready(conversation_id: UUID) -> None:
    """What was prepared will not be put in force."""
    rows = Compaction.objects.filter(conversation_id=conversation_id, status=Compaction.Status.READY)
    found = rows.update(status=Compaction.Status.DISCARDED, error=OUTDATED, prepared=None)
    transaction.on_commit(partial(metrics.prepared_in_vain, found))


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
        finish(row, Compaction.Status.FAILED, error=error)


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
    logger.info("compaction ended", extra=logged.figures_of(row))
    publish(
        row.conversation_id,
        "compression.completed",
        id=str(row.pk),
        status=row.status,
        before=row.pre_tokens,
        after=row.post_tokens,
        error=row.error or None,
    )


async def advance(row: Compaction, stage: str, percent: int, *, summariser: str, **more: Any) -> None:
    """Note how far the work is, and who is at it. Raises LeaseLost."""
    if not await sync_to_async(held(row).update)(stage=stage, percent=percent, summariser=summariser, **more):
        raise LeaseLost
    row.stage = stage
    _tell(row, percent)


def _tell(row: Compaction, percent: int) -> None:
    publish(row.conversation_id, "compression.progress", id=str(row.pk), stage=row.stage, percent=percent)


def wake(compaction_id: UUID) -> None:
    """Have the worker of this process that is at a row, if any is, look at it now."""
    if watch := _watches.get(compaction_id):
        loop, woken = watch
        with contextlib.suppress(RuntimeError):  # a loop that has ended
            loop.call_soon_threadsafe(woken.set)


def quiet() -> dict[str, Any]:
    """Nothing new to say of a row."""
    return {}


@asynccontextmanager
async def renewed(row: Compaction, *, news: Callable[[], dict[str, Any]] = quiet) -> AsyncIterator[None]:
    """Keep the lease for as long as the work takes; once it is lost the work is cut short, and LeaseLost raised.

    `news` gives the columns of the row that have changed since it was asked last.
    """
    work = asyncio.current_task()
    assert work is not None
    watch = _Watch(row, news, work)
    _watches[row.pk] = watch.loop, watch.woken
    with logged.noted(compaction_id=str(row.pk), conversation_id=str(row.conversation_id)):
        watching = asyncio.create_task(watch.run())
        try:
            yield
        except asyncio.CancelledError:
            if watch.has_cut and work.cancelling() == 1:
                raise LeaseLost from None
            raise  # it is to end for another reason too
        finally:
            if _watches.get(row.pk) == (watch.loop, watch.woken):
                del _watches[row.pk]
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            if watch.has_cut:
                work.uncancel()


class _Watch:
    """A look at the row at every beat, and every second; cancels `work` once the row is not ours any more."""

    def __init__(self, row: Compaction, news: Callable[[], dict[str, Any]], work: asyncio.Task[Any]) -> None:
        self.row, self.news, self.work = row, news, work
        self.loop, self.woken = asyncio.get_running_loop(), asyncio.Event()
        self.has_cut = False

    async def run(self) -> None:
        renewed_at, is_ours = self.loop.time(), True
        while is_ours:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), min(WATCH_SECONDS, beat_seconds()))
            self.woken.clear()
            changed = self.news()
            percent = changed.get("percent")
            if self.loop.time() - renewed_at >= beat_seconds():
                renewed_at, changed = self.loop.time(), changed | {"lease_expires_at": expiry()}
            try:
                is_ours = await sync_to_async(_still_held)(self.row, changed)
            except (DatabaseError, InterfaceError):
                logger.exception("the lease of compaction %s could not be renewed", self.row.pk)
                await sync_to_async(close_old_connections)()  # nobody else does, while this is all that is asked of it
            else:
                if percent is not None and is_ours:
                    _tell(self.row, percent)
        if self.row.is_active:  # else it is its worker that has ended it
            self.has_cut = True
            self.work.cancel()


def _still_held(row: Compaction, changed: dict[str, Any]) -> bool:
    """Whether the row is ours; what has `changed` is stored where it is."""
    return bool(held(row).update(**changed)) if changed else held(row).exists()
