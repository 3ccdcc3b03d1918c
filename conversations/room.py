"""Room for the next request: compressed first where that is due, and by other means where it must be."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from uuid import UUID

from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.core.values import Steering
from compression.ids import uuid7
from compression.models import Compaction, Snapshot
from conversations import compaction, emergency, lease, transcript
from conversations.errors import Conflict, TooLarge
from conversations.llm.base import NotConfigured
from conversations.transcript import Loaded
from conversations.usage import measured, parts, tell, too_large

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 0.1


async def ensure(conversation_id: UUID, *, overflowed: bool = False) -> Loaded:
    """The conversation as it can be sent now, compressed first where that is due.

    `overflowed` says that the provider found the last request too long. Raises TooLarge, naming the parts, where
    it does not fit even so.
    """
    loaded = await sync_to_async(transcript.load)(conversation_id)
    if loaded.head.is_compacting:
        loaded = await _settled(conversation_id)
    if overflowed or await sync_to_async(is_due)(loaded):
        status = await _compress_now(conversation_id)
        loaded = await _settled(conversation_id)
        if status == Compaction.Status.DISCARDED and await sync_to_async(is_due)(loaded):
            # A person undid or protected something meanwhile: what was computed no longer held.
            await _compress_now(conversation_id)
            loaded = await _settled(conversation_id)
    if _is_over(loaded):
        loaded = await _relieved(loaded)
    usage = measured(loaded)
    if usage is None:
        raise NotConfigured("This conversation has no model any more. Choose one.")
    if usage.over_budget:
        raise TooLarge(too_large(usage), **parts(usage))
    return loaded


async def _relieved(loaded: Loaded) -> Loaded:
    """Over the budget even so: the last resorts, each once at most and only where it is still needed."""
    id = loaded.head.id
    for resort in (emergency.age, emergency.elide):
        if _is_over(loaded) and await sync_to_async(resort)(loaded):
            loaded = await _settled(id)
    if _is_over(loaded):
        await _compress_now(id, trigger=Compaction.Trigger.EMERGENCY)
        loaded = await _settled(id)
    await sync_to_async(tell)(id)
    return loaded


def _is_over(loaded: Loaded) -> bool:
    usage = measured(loaded)
    return usage is not None and usage.over_budget


async def _compress_now(conversation_id: UUID, *, trigger: str = Compaction.Trigger.AUTO) -> str:
    """How it ended; "" where someone else is at it, who will be waited for."""
    id, steering = uuid7(), Steering(keep_recent=0 if trigger == Compaction.Trigger.EMERGENCY else None)
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
        # The turn goes on without it, if it fits.
        logger.exception("compaction %s failed", id)
    return (await Compaction.objects.aget(pk=id)).status


async def _settled(conversation_id: UUID) -> Loaded:
    """The conversation once nothing compresses it: a worker that died is given up on when its lease runs out."""
    while await sync_to_async(lease.active)(conversation_id):
        await asyncio.sleep(SETTLE_SECONDS)
    return await sync_to_async(transcript.load)(conversation_id)


def is_due(loaded: Loaded) -> bool:
    """Whether the next request is to be preceded by a compaction."""
    policy, usage = compaction.policy_of(loaded.head), measured(loaded)
    if usage is None:
        return False
    if usage.over_budget:
        return True
    if not policy.enabled or not policy.is_due(usage, messages=len(loaded.turns), local=bool(loaded.head.is_local)):
        return False
    return not _is_resting(loaded, policy.cooldown)


def _is_resting(loaded: Loaded, cooldown: int) -> bool:
    """Just compressed of itself, or undone by a person who has said nothing since."""
    automatic = Compaction.objects.filter(conversation_id=loaded.head.id, trigger=Compaction.Trigger.AUTO)
    if automatic.filter(created_at__gt=timezone.now() - timedelta(seconds=cooldown)).exists():
        return True
    undone = Snapshot.objects.filter(conversation_id=loaded.head.id, purpose=Snapshot.Purpose.RECOVERY)
    return bool(loaded.live) and undone.filter(created_at__gt=loaded.live[-1].created_at).exists()
