"""Compacts a caller's history: its lines become rows of a conversation of its own, which is compacted like any other.

A call that compacts a history holds the row of `Folding` for the history's beginning: of calls that begin alike at the
same time, one compacts, and the others find its summary.
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

from compression.core.values import ToolUse, Turn
from compression.ids import uuid7
from compression.leases import expiry
from conversations.compaction import snapshots, trigger
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.transcript import Loaded, tool_tokens
from conversations.errors import Conflict, NotFound, TooLarge
from conversations.gateway import checkpoints
from conversations.gateway.checkpoints import State, holds
from conversations.gateway.history import History, HistoryLine
from conversations.llm.errors import NotConfigured
from conversations.models import Conversation, Folding, Message, ModelProfile, ToolCall
from conversations.models.conversation import MAX_TITLE_CHARS
from conversations.quota import require_storage_for
from conversations.runtime.lease import Lease
from conversations.turns import forks

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
BATCH = 500
TICK = timedelta(microseconds=1)


_lines: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
"""Locks of this process, so that only the first call of each beginning asks the database."""


@asynccontextmanager
async def alone(owner_id: int, digest: str) -> AsyncIterator[None]:
    """Wait until no other call compacts a history of this person with this beginning, and keep others out meanwhile."""
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


async def compact_history(
    owner_id: int, history: History, state: State | None, profile: ModelProfile, *, overflowed: bool = False
) -> State | None:
    """Store the history's lines after `state`, compact them if that is due, and return the state that then holds.

    `overflowed`: the provider refused the last request as too long. Call it under `alone`; the caller checks whether
    the request fits then, by the token correction that is noted in `profile`. Raises Superseded if `state` no longer
    holds, or the stored lines are gone.
    """
    try:
        conversation_id = await sync_to_async(_stored)(owner_id, history, state, profile)
        with contextlib.suppress(TooLarge, NotConfigured):
            loaded = await trigger.ensure_room(conversation_id, overflowed=overflowed)
            # The caller measures the request as it was fitted: another answer may have corrected the count meanwhile.
            profile.token_correction = loaded.head.correction or profile.token_correction
        found = await sync_to_async(checkpoints.present)(conversation_id, history)
    except (ObjectDoesNotExist, NotFound, Conflict) as gone:
        raise Superseded from gone
    if state is None and (found is None or not found.is_summary):
        # Nothing could be compacted: rows that no summary stands for are not kept, however often they are sent.
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
        if state and state.is_current:
            _unprotect(history, state)
        _append(conversation, history.lines[state.place if state else 0 :])
    return conversation.pk


def _conversation(owner_id: int, history: History, state: State | None) -> Conversation:
    """The state's conversation; a copy as of the state if that is not current; a new conversation without a state."""
    if state is None:
        title = " ".join(next((typed for line in history.lines if (typed := line.turn.typed.strip())), "").split())
        kind = Conversation.Kind.GATEWAY
        return Conversation.objects.create(owner_id=owner_id, kind=kind, title=title[:MAX_TITLE_CHARS])
    conversation = Conversation.objects.get(pk=state.conversation_id)
    if state.is_current:
        return conversation
    last = Message.objects.get(conversation=conversation, created_at=state.cut)
    return forks.fork(conversation, last.pk, kind=Conversation.Kind.GATEWAY)


def _unprotect(history: History, state: State) -> None:
    """Let the next summary have the kept lines that are no longer in force."""
    kept = list(Message.objects.filter(pk__in=state.verbatim_ids).order_by("created_at").values_list("pk", flat=True))
    if len(kept) != len(state.kept):
        raise Superseded
    outdated = [id for number, id in zip(state.kept, kept, strict=True) if not history.lines[number].turn.protected]
    if outdated:
        Message.objects.filter(pk__in=outdated, is_protected=True).update(is_protected=False)


def _append(conversation: Conversation, lines: Sequence[HistoryLine]) -> None:
    """Make `lines` the messages after the cut: equal rows stay, different ones are replaced.

    The history is the caller's: lines that it changed since they were last stored are stored nowhere else.
    """
    loaded = transcript.load(conversation.pk)
    same = _same(loaded, lines)
    texts = (text for line in lines[same:] for text in (line.turn.content, *(one or "" for one in line.results)))
    require_storage_for(conversation.owner_id, texts)
    Message.objects.filter(pk__in=[turn.id for turn in loaded.live[same:]]).delete()
    last = Message.objects.filter(conversation=conversation).aggregate(last=Max("created_at"))["last"]
    moment = max(timezone.now(), last + TICK) if last else timezone.now()
    for batch in batched(enumerate(lines[same:]), BATCH):
        rows = [(_row(conversation, line), line) for _, line in batch]
        for (number, _), (row, _) in zip(batch, rows, strict=True):
            row.created_at = moment + number * TICK
        Message.objects.bulk_create([row for row, _ in rows])
        ToolCall.objects.bulk_create([call for row, line in rows for call in _tool_calls(row, line)])


def _same(loaded: Loaded, lines: Sequence[HistoryLine]) -> int:
    """The number of live messages that the caller still sends unchanged."""
    for number, (turn, line) in enumerate(zip(loaded.live, lines, strict=False)):
        now = line.turn
        if (turn.role, turn.content, turn.tools, turn.protected) != (now.role, now.content, now.tools, now.protected):
            return number
        if not turn.elided and turn.tokens != now.tokens:
            return number  # of a result, what is too long for a summary is another
    return min(len(loaded.live), len(lines))


def _row(conversation: Conversation, line: HistoryLine) -> Message:
    turn = line.turn
    return Message(
        conversation=conversation,
        role=turn.role,
        content=turn.content,
        token_count=turn.tokens,
        is_protected=turn.protected,
        origin=_origin(turn),
    )


def _origin(turn: Turn) -> dict[str, list[list[int]]] | None:
    places = {"quoted": turn.quoted, "boilerplate": turn.boilerplate}
    return {name: [list(place) for place in found] for name, found in places.items() if found} or None


def _tool_calls(row: Message, line: HistoryLine) -> list[ToolCall]:
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
