"""Makes room for a call whose history is too long: by a stored summary, or by a compaction that it waits for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import perf_counter

from asgiref.sync import sync_to_async

from conversations.compaction.snapshots import Superseded
from conversations.gateway import checkpoints
from conversations.gateway.call_log import MADE, Call
from conversations.gateway.checkpoints import State
from conversations.gateway.compaction import alone, compact_history
from conversations.gateway.request import GatewayRequest
from conversations.runtime import queue

TRIES = 3
"""Number of times that other calls may compact the same history differently before this one is sent unchanged."""


async def with_room(
    asked: GatewayRequest, state: State | None, call: Call, *, overflowed: bool = False
) -> State | None:
    """The summary to send; a new one is made if no stored one makes enough room, or if `overflowed`.

    A compaction that has begun is ended even if the caller leaves: its next call finds the summary. Raises TooLarge if
    none could make room.
    """
    if not overflowed and not asked.is_due(state):
        return state
    asked.require_possible()
    began = perf_counter()
    try:
        compacting = queue.keep(asyncio.create_task(_compacted(asked, state, call, overflowed)))
        return await asyncio.shield(compacting)
    finally:
        call.compacted_seconds += perf_counter() - began


async def _compacted(asked: GatewayRequest, state: State | None, call: Call, overflowed: bool) -> State | None:
    """The state after a compaction, or another call's state if that makes enough room."""
    history, owner_id = asked.history, call.owner_id
    for _ in range(TRIES):
        async with alone(owner_id, state.digest if state else history.origin):
            newer = await sync_to_async(checkpoints.find_checkpoint)(owner_id, history)
            if _digest(newer) == _digest(state):
                with suppress(Superseded):
                    is_over = overflowed or asked.usage(newer).over_budget  # by the room that the caller wants
                    found = await compact_history(owner_id, history, newer, asked.profile, overflowed=is_over)
                    call.checkpoint = MADE if _digest(found) != _digest(newer) else call.checkpoint
                    return found
        state = newer
        if not (overflowed or asked.is_due(state)):
            break
    return state


def _digest(state: State | None) -> str:
    return state.digest if state else ""
