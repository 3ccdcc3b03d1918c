"""Folding a caller's history: it becomes rows of its own conversation, which is compressed as any other is.

Whoever folds a history holds the row of `Folding` for what it begins with: of calls that begin alike, at the same time,
one folds, and the others find its summary.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from itertools import batched
from uuid import UUID
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from compression.core.values import ToolUse
from compression.ids import uuid7
from compression.leases import expiry
from conversations.compaction import snapshots, trigger
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.transcript import Loaded, tool_tokens
from conversations.errors import Conflict, NotFound, TooLarge
from conversations.gateway import checkpoints
from conversations.gateway.checkpoints import State, holds
from conversations.gateway.history import History, Line
from conversations.llm.errors import NotConfigured
from conversations.models import Conversation, Folding, Message, ModelProfile, ToolCall
from conversations.models.conversation import MAX_TITLE_CHARS
from conversations.runtime.lease import Lease
from conversations.turns import forks

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
BATCH = 500
TICK = timedelta(microseconds=1)


_lines: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
"""In which those of this process wait: only the first of each asks the database."""


@asynccontextmanager
async def alone(owner_id: int, digest: str) -> AsyncIterator[None]:
    """Wait until nobody else folds what begins with `digest` for this person, and keep others out meanwhile."""
    token = uuid7()
    async with _lines.setdefault((owner_id, digest), asyncio.Lock()):
        mine = Lease(partial(Folding.objects.filter, token=token), f"history {digest}", expires="expires_at")
        beating: asyncio.Task[None] | None = None
        try:
            while not await sync_to_async(_claim)(owner_id, digest, token):
                await asyncio.sleep(POLL_SECONDS)
            beating = asyncio.create_task(mine.watch())
            yield
        finally:
            if beating:
                beating.cancel()
            await asyncio.shield(sync_to_async(_release)(token))


async def fold(
    owner_id: int, history: History, state: State | None, profile: ModelProfile, *, overflowed: bool = False
) -> State | None:
    """Store what the history has beyond `state`, and compress it where that is due; gives the state that holds then.

    `overflowed`: the provider found the last request too long. Under `alone`. Whether it fits then is for the caller
    to see. Raises Superseded where `state` holds no more, or what was stored is gone.
    """
    try:
        conversation_id = await sync_to_async(_stored)(owner_id, history, state, profile)
        with contextlib.suppress(TooLarge, NotConfigured):
            await trigger.ensure_room(conversation_id, overflowed=overflowed)
        found = await sync_to_async(checkpoints.present)(conversation_id, history)
    except (ObjectDoesNotExist, NotFound, Conflict) as gone:
        raise Superseded from gone
    if state is None and (found is None or not found.is_summary):
        # Nothing could be folded: what stands for nothing is not kept, however often it is sent.
        await sync_to_async(_forget)(conversation_id)
    return found


def _claim(owner_id: int, digest: str, token: UUID) -> bool:
    rows = Folding.objects.filter(owner_id=owner_id, digest=digest)
    if rows.filter(expires_at__lt=timezone.now()).update(token=token, expires_at=expiry()):
        return True
    with contextlib.suppress(IntegrityError), transaction.atomic():
        Folding.objects.create(owner_id=owner_id, digest=digest, token=token, expires_at=expiry())
        return True
    return False


def _release(token: UUID) -> None:
    Folding.objects.filter(token=token).delete()


def _forget(conversation_id: UUID) -> None:
    Conversation.objects.filter(pk=conversation_id, compressed_at=None).delete()


def _stored(owner_id: int, history: History, state: State | None, profile: ModelProfile) -> UUID:
    with transaction.atomic():
        conversation = _conversation(owner_id, history, state)
        snapshots.lock(conversation.pk)  # what else is being computed from it is not put in force
        if state and not holds(conversation.pk, state.digest):
            raise Superseded
        Conversation.objects.filter(pk=conversation.pk).update(
            model=profile, system_prompt=history.fixed, updated_at=timezone.now()
        )
        _append(conversation, history.lines[state.place if state else 0 :])
    return conversation.pk


def _conversation(owner_id: int, history: History, state: State | None) -> Conversation:
    """The one whose state it is; a copy of it as it was then, where it has gone on; a new one where there is none."""
    if state is None:
        title = " ".join(next((line.turn.content for line in history.lines if line.turn.role == "user"), "").split())
        kind = Conversation.Kind.GATEWAY
        return Conversation.objects.create(owner_id=owner_id, kind=kind, title=title[:MAX_TITLE_CHARS])
    conversation = Conversation.objects.get(pk=state.conversation_id)
    if state.is_current:
        return conversation
    last = Message.objects.get(conversation=conversation, created_at=state.cut)
    return forks.fork(conversation, last.pk)


def _append(conversation: Conversation, lines: Sequence[Line]) -> None:
    """Make `lines` what comes after the cut: rows that are there already stay, those that differ give way.

    The history is the caller's: what it has changed since it was last stored is stored here nowhere else.
    """
    loaded = transcript.load(conversation.pk)
    same = _same(loaded, lines)
    Message.objects.filter(pk__in=[turn.id for turn in loaded.live[same:]]).delete()
    last = Message.objects.filter(conversation=conversation).aggregate(last=Max("created_at"))["last"]
    moment = max(timezone.now(), last + TICK) if last else timezone.now()
    for batch in batched(enumerate(lines[same:]), BATCH):
        rows = [(_row(conversation, line), line) for _, line in batch]
        for (number, _), (row, _) in zip(batch, rows, strict=True):
            row.created_at = moment + number * TICK
        Message.objects.bulk_create([row for row, _ in rows])
        ToolCall.objects.bulk_create([call for row, line in rows for call in _tool_calls(row, line)])


def _same(loaded: Loaded, lines: Sequence[Line]) -> int:
    """How many of the live messages are still what the caller sends."""
    for number, (turn, line) in enumerate(zip(loaded.live, lines, strict=False)):
        now = line.turn
        if (turn.role, turn.content, turn.tools, turn.protected) != (now.role, now.content, now.tools, now.protected):
            return number
        if not turn.elided and turn.tokens != now.tokens:
            return number  # of a result, what is too long for a summary is another
    return min(len(loaded.live), len(lines))


def _row(conversation: Conversation, line: Line) -> Message:
    turn = line.turn
    return Message(
        conversation=conversation,
        role=turn.role,
        content=turn.content,
        token_count=turn.tokens,
        is_protected=turn.protected,
    )


def _tool_calls(row: Message, line: Line) -> list[ToolCall]:
    return [_tool_call(row, use, result) for use, result in zip(line.turn.tools, line.results, strict=True)]


def _tool_call(row: Message, use: ToolUse, result: str | None) -> ToolCall:
    return ToolCall(
        message=row,
        call_id=use.call_id,
        name=use.name[:200],
        arguments=use.arguments,
        result=result,
        created_at=row.created_at,
        token_count=tool_tokens(use),
    )
