"""Makes room for the next request: compacts the conversation when that is due, and by last resorts if it must."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import timedelta
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from compression.core.error_codes import ErrorCode
from compression.core.plan.policy import Due
from compression.core.savings import pays
from compression.core.tokens import count_tokens
from compression.core.values import Steering, Usage
from compression.ids import uuid7
from compression.models import Compaction
from conversations.compaction import after_undo, ahead_of_time, compaction, emergency, lease
from conversations.context.policy import policy_of
from conversations.context.transcript import Loaded
from conversations.errors import Conflict, TooLarge
from conversations.llm.errors import NotConfigured
from conversations.memory import recall
from conversations.requests.usage import publish_usage, too_large, too_large_detail, usage_of
from conversations.runtime import queue

logger = logging.getLogger(__name__)

Trigger = Compaction.Trigger
UNCOMPRESSED = " Its compaction was cancelled. Press Compact, or try again, and let it end."
NO_MODEL = "This conversation has no model any more. Choose one."
SETTLE_SECONDS = 0.1
MIN_PAUSE_SECONDS = 10
"""The least seconds between two attempts to prepare a summary; the policy's own pause may be longer."""


async def ensure_room(conversation_id: UUID, *, overflowed: bool = False) -> Loaded:
    """Load the conversation ready to send, after a compaction if one is due.

    `overflowed`: the provider refused the last request as too long. If a person cancels the compaction, the request is
    sent without it if it fits. Raises TooLarge, naming the parts, if the request does not fit in the end.
    """
    loaded = await sync_to_async(recall.load_for_request)(conversation_id)
    if loaded.head.is_compacting:
        loaded = await _settled(conversation_id)
    if loaded.head.undone_at:
        return _as_left(loaded, overflowed=overflowed)
    cancelled = False
    if overflowed or await sync_to_async(is_due)(loaded):
        loaded, cancelled = await _compressed(conversation_id)
    if _is_over(loaded) and not cancelled:
        loaded, cancelled = await _relieved(loaded)
    usage = usage_of(loaded)
    if usage is None:
        raise NotConfigured(NO_MODEL, code=ErrorCode.NO_MODEL)
    if usage.over_budget:
        raise TooLarge(f"{too_large(usage)}{UNCOMPRESSED if cancelled else ''}", **too_large_detail(usage))
    return loaded


def prepare_ahead(conversation_id: UUID) -> None:
    """After a reply, start an ahead-of-time compaction if one will soon be due and none is ready."""
    loaded = recall.load(conversation_id)
    policy, usage = policy_of(loaded.head), usage_of(loaded)
    if (
        usage is None
        or loaded.head.undone_at
        or not policy.is_near(usage, local=bool(loaded.head.is_local))
        or _is_resting(loaded, max(policy.cooldown, MIN_PAUSE_SECONDS), attempts=True)
    ):
        return
    growth = policy.due_at(usage, local=bool(loaded.head.is_local)).tokens - usage.total
    steering = Steering(growth=max(0, int(growth)))
    if not _pays(loaded, steering):
        return
    with contextlib.suppress(Conflict), transaction.atomic():
        if not ahead_of_time.holds(conversation_id):
            row = lease.claim(conversation_id, trigger=Trigger.AHEAD, steering=steering)
            queue.enqueue("compact", str(row.pk))


def _as_left(loaded: Loaded, *, overflowed: bool) -> Loaded:
    """The conversation as its owner left it by an undo. Raises TooLarge, naming the choices, if it does not fit."""
    usage = usage_of(loaded)
    if usage is None:
        raise NotConfigured(NO_MODEL, code=ErrorCode.NO_MODEL)
    if overflowed or usage.over_budget:
        raise TooLarge(f"{too_large(usage)} {after_undo.TOO_LONG}", undone=True, **too_large_detail(usage))
    return loaded


async def _compressed(conversation_id: UUID) -> tuple[Loaded, bool]:
    """Compact the conversation: by a prepared summary, after waiting for it, if that is enough, else by a new
    compaction.

    Returns the conversation, and whether the compaction was cancelled.
    """
    loaded = await _settled(conversation_id)
    if await sync_to_async(ahead_of_time.put_in_force)(conversation_id):
        loaded = await sync_to_async(recall.load_for_request)(conversation_id)
        if not await sync_to_async(is_full)(loaded):
            return loaded, False
    status = await _compress_now(conversation_id)
    loaded = await _settled(conversation_id)
    if status == Compaction.Status.DISCARDED and await sync_to_async(is_due)(loaded):
        # A person undid a compaction or protected a message meanwhile, so the result was discarded: compact once more.
        status = await _compress_now(conversation_id)
        loaded = await _settled(conversation_id)
    return loaded, status == Compaction.Status.CANCELLED


async def _relieved(loaded: Loaded) -> tuple[Loaded, bool]:
    """Try the last resorts on a conversation over its budget, each at most once and only while it is still needed.

    Returns the conversation, and whether the last resort was cancelled.
    """
    id, status = loaded.head.id, ""
    for resort in (emergency.age, emergency.elide):
        if _is_over(loaded) and await sync_to_async(resort)(loaded):
            loaded = await _settled(id)
    if _is_over(loaded):
        status = await _compress_now(id, trigger=Trigger.EMERGENCY)
        loaded = await _settled(id)
    await sync_to_async(publish_usage)(id)
    return loaded, status == Compaction.Status.CANCELLED


def _is_over(loaded: Loaded) -> bool:
    usage = usage_of(loaded)
    return usage is not None and usage.over_budget


async def _compress_now(conversation_id: UUID, *, trigger: str = Trigger.AUTO) -> str:
    """Run a compaction now; returns its final status, or "" if another one is running, which the caller waits for."""
    id, steering = uuid7(), Steering(keep_recent=0 if trigger == Trigger.EMERGENCY else None, growth=0)
    try:
        await sync_to_async(lease.claim)(conversation_id, trigger=trigger, steering=steering, id=id)
    except Conflict:
        return ""
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(lease.release)(id, error=compaction.STOPPED))
        raise
    try:
        await compaction.run(id)
    except Exception:
        # The turn goes on without the compaction, if the request fits.
        logger.exception("compaction %s failed", id)
    return (await Compaction.objects.aget(pk=id)).status


async def _settled(conversation_id: UUID) -> Loaded:
    """Load the conversation once no compaction is active; a dead worker's compaction ends when its lease expires."""
    while await sync_to_async(lease.active)(conversation_id):
        await asyncio.sleep(SETTLE_SECONDS)
    return await sync_to_async(recall.load_for_request)(conversation_id)


def is_due(loaded: Loaded) -> bool:
    """Whether a compaction must run before the next request."""
    return is_full(loaded) and (_is_over(loaded) or not _is_resting(loaded, policy_of(loaded.head).cooldown))


def is_full(loaded: Loaded) -> bool:
    """Whether a compaction is due and can save tokens, without regard to the pause between two automatic ones."""
    policy, usage = policy_of(loaded.head), usage_of(loaded)
    if usage is None:
        return False
    due = policy.is_due(usage, messages=len(loaded.turns), local=bool(loaded.head.is_local))
    return (due or usage.over_budget) and _pays(loaded, Steering() if policy.has_budget else Steering(growth=0))


def _pays(loaded: Loaded, steering: Steering) -> bool:
    """Whether a compaction by itself could save tokens. One that could not leaves no row."""
    return pays(compaction.source(loaded, rebuild=False), policy_of(loaded.head), steering, count=count_tokens)


def _is_resting(loaded: Loaded, cooldown: int, *, attempts: bool = False) -> bool:
    """Whether automatic compactions pause now.

    They do if one ran less than `cooldown` seconds ago, or if a person cancelled a compaction and has written no
    message since. With `attempts`, a recent ahead-of-time attempt counts too.
    """
    rows = Compaction.objects.filter(conversation_id=loaded.head.id)
    now = timezone.now()
    lately = (now - timedelta(seconds=cooldown), now)
    recent = Q(trigger=Trigger.AUTO, created_at__range=lately) | Q(
        trigger=Trigger.AHEAD, status=Compaction.Status.SUCCEEDED, finished_at__range=lately
    )
    if attempts:
        recent |= Q(trigger=Trigger.AHEAD, created_at__range=lately)
    asked = [turn.created_at for turn in loaded.live if turn.role == "user"]
    if asked:
        recent |= Q(status=Compaction.Status.CANCELLED, finished_at__gt=asked[-1])
    return rows.filter(recent).exists()


def compacts_at(loaded: Loaded, used: Usage) -> Due | None:
    """The usage at which a compaction runs before the next request; None if the policy or an undo rules that out."""
    policy = policy_of(loaded.head)
    if not policy.enabled or loaded.head.undone_at:
        return None
    return policy.due_at(used, messages=len(loaded.turns), local=bool(loaded.head.is_local))
