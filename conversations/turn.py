"""One chat turn: the question is stored, then answered in the background; the page may come and go meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction

from compression.ids import milliseconds_since, uuid7
from conversations import cancelling, orphans, prompt, replies, reply_lease, room, titles, usage
from conversations.agents import calls
from conversations.agents.tools.belt import Belt
from conversations.agents.tools.spec import Asked
from conversations.agents.work import MOST_REQUESTS, LeaseLost, Work
from conversations.context import recall
from conversations.errors import Refused
from conversations.events import hub, publish
from conversations.insisting import insisted
from conversations.llm.base import ContextTooLong, ModelError, Spent
from conversations.llm.profiles import connect
from conversations.models import Conversation, Message, ModelProfile
from conversations.questions import begin
from conversations.records import Sent
from conversations.replies import retry
from conversations.reply_lease import Held
from conversations.shapes import message_json
from conversations.transcript import Loaded

__all__ = ["begin", "delete", "retry", "run", "stop", "text_so_far"]

logger = logging.getLogger(__name__)

Status = Message.Status


@dataclass(slots=True)
class Running:
    """A reply in the making, in this process; `token` says that it is ours to write."""

    conversation_id: UUID
    reply_id: UUID
    token: UUID
    task: asyncio.Task[Any]
    pieces: list[str] = field(default_factory=list)
    written: int = 0
    stopping: bool = False
    makes_room: bool = False
    """It may wait for a compaction, its own or another one."""
    sent: Sent | None = None
    spent: Spent | None = None
    first_token_ms: int | None = None
    finish_reason: str = ""
    calls: tuple[Asked, ...] = ()
    number: int = 1
    """Of the requests that this turn has made."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


_running: dict[UUID, Running] = {}


async def run(conversation_id: UUID, reply_id: UUID, token: UUID | None = None) -> None:
    """Answer a question: make room, assemble, stream, save. Whatever ends it, what was written is kept.

    `token` is that of a reply which was stored as this process's own; without one it is claimed first.
    """
    running = await _taken_up(conversation_id, reply_id, token)
    if running is None:
        return  # another worker has it, or it has ended
    async with Belt() as belt:
        work = Work(conversation_id, running.token, belt)
        while running is not None:
            running = await _run(running, work)


async def _run(running: Running, work: Work) -> Running | None:
    """One request and its reply; where that called tools, the next one, which is told what they gave."""
    status, error = Status.FAILED, ""
    try:
        async with _renewed(running):
            await _answer(running, work)
        status = Status.COMPLETE
    except asyncio.CancelledError:
        status, error = (Status.STOPPED, "") if running.stopping else (Status.INTERRUPTED, replies.INTERRUPTED)
    except ModelError as fault:
        error = fault.reason
    except Refused as refusal:
        error = refusal.message
    except LeaseLost:
        status, error = Status.INTERRUPTED, replies.INTERRUPTED
    except ObjectDoesNotExist:
        error = "What this reply needs was deleted meanwhile: the conversation, or its model."
    except Exception:
        logger.exception("reply %s failed", running.reply_id)
        error = "Something went wrong on this site; the log says what. Your message is kept."
    return await _ended(running, status, error)


async def _ended(running: Running, status: str, error: str) -> Running | None:
    """Saved whatever happens; one that is cancelled just then leaves no next reply behind that nobody writes."""
    ending = asyncio.ensure_future(_end(running, status, error))
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        await _to_its_end(asyncio.ensure_future(_end_next(running, ending)))
        raise


async def _end_next(running: Running, ending: asyncio.Future[Running | None]) -> None:
    """The reply that follows on one which ends just now, if any does."""
    if following := await ending:
        status = Status.STOPPED if running.stopping or following.stopping else Status.INTERRUPTED
        await _end(following, status, "")


async def _to_its_end(task: asyncio.Task[None]) -> None:
    """However often that is cancelled: a person may press Stop more than once."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


async def _taken_up(conversation_id: UUID, reply_id: UUID, token: UUID | None) -> Running | None:
    task = asyncio.current_task()
    assert task is not None
    running = Running(conversation_id, reply_id, token or uuid7(), task)
    take = reply_lease.check if token else reply_lease.claim
    try:
        held = await insisted(partial(take, reply_id, running.token))
    except asyncio.CancelledError:
        await asyncio.shield(replies.hand_back(conversation_id, reply_id, running.token))
        raise
    if held is Held.LOST or ((other := _running.get(conversation_id)) and other.reply_id == reply_id):
        return None
    _running[conversation_id] = running
    if held is Held.STOPPING:
        await _end(running, Status.STOPPED, "")
        return None
    return running


def stop(conversation: Conversation) -> bool:
    """End the reply that is being written, and what it waits for, and keep its text; False where there is none."""
    running = _running.get(conversation.pk)
    if running is not None:
        running.stopping = True  # first: a reply that waits for a compaction must not begin once that is cancelled
    if running is None or running.makes_room or running.sent is None:  # not asked yet: it is about to wait, or waits
        cancelling.cancel_waited_for(conversation.pk)
    return _stop_here(conversation.pk) or orphans.stop(conversation.pk) or running is not None


def _stop_here(conversation_id: UUID) -> bool:
    running = _running.get(conversation_id)
    if running is None or running.task.done():
        return False
    running.stopping = True
    running.task.get_loop().call_soon_threadsafe(running.task.cancel)
    return True


hub.commands["reply.stop"] = _stop_here


def delete(conversation: Conversation) -> None:
    """Stop what is written, and delete everything: under the row's lock, so that nothing is added meanwhile."""
    stop(conversation)
    with transaction.atomic():
        for locked in Conversation.objects.select_for_update().filter(pk=conversation.pk):
            list(Conversation.objects.select_for_update().filter(parent=locked).values_list("pk"))
            locked.delete()
            transaction.on_commit(partial(publish, conversation.pk, "resync"))


def text_so_far(reply: Message) -> str:
    """What is known of a reply in the making, whoever writes it."""
    return max(heard(reply.conversation_id, str(reply.pk)), reply.content, key=len)


def heard(conversation_id: UUID, reply_id: str) -> str:
    """What this process has written of it, or heard of from its beginning; else ""."""
    running = _running.get(conversation_id)
    return running.text if running and str(running.reply_id) == reply_id else hub.draft(reply_id)


async def _answer(running: Running, work: Work) -> None:
    work.reply_id = running.reply_id
    await sync_to_async(replies.settle_model)(running.conversation_id)
    loaded = await _with_room(running)
    if loaded.is_at_tools and await calls.carry_out(work, loaded):
        loaded = await _with_room(running)
    try:
        await _stream(running, work, await sync_to_async(recall.recalling)(loaded))
    except ContextTooLong:
        if running.pieces:
            raise
        loaded = await _with_room(running, overflowed=True)
        await _stream(running, work, loaded)


async def _with_room(running: Running, *, overflowed: bool = False) -> Loaded:
    """The conversation as it can be sent. Raises CancelledError where a person stopped what it waited for."""
    running.makes_room = True
    loaded = await room.ensure(running.conversation_id, overflowed=overflowed)
    running.makes_room = False
    if running.stopping:
        raise asyncio.CancelledError
    return loaded


async def _stream(running: Running, work: Work, loaded: Loaded) -> None:
    profile = await ModelProfile.objects.aget(pk=loaded.head.profile_id or 0)
    work.requests += 1
    assembled = prompt.assemble(loaded, may_call=running.number < MOST_REQUESTS and work.may_ask)
    running.sent = Sent(loaded, assembled, profile)
    id = str(running.reply_id)
    async with aclosing(connect(profile, used=running.sent.used).stream(running.sent.prompt)) as deltas:
        async for delta in deltas:
            if delta.text:
                if not running.pieces:
                    running.first_token_ms = milliseconds_since(running.reply_id)
                running.pieces.append(delta.text)
                hub.feed(running.conversation_id, id, delta.text, at=running.written)
                running.written += len(delta.text)
            running.spent = delta.spent or running.spent
            running.calls = delta.calls or running.calls
            running.finish_reason = delta.finish_reason or running.finish_reason


async def _end(running: Running, status: str, error: str) -> Running | None:
    """Save the reply, then tell the page; a conversation that was deleted meanwhile needs neither.

    The next reply of the turn, where this one called tools.
    """
    if status == Status.INTERRUPTED and not running.pieces:
        # The server stops before a word was written: the next one, or another, begins anew.
        _forget(running)
        await replies.hand_back(running.conversation_id, running.reply_id, running.token)
        return None
    asked = running.calls if status == Status.COMPLETE else ()
    tokens = await asyncio.to_thread(replies.tokens_of, running.text, asked)
    save = partial(
        replies.finish,
        running.reply_id,
        running.token,
        status=status,
        content=running.text,
        tokens=tokens,
        error=error,
        sent=running.sent,
        spent=running.spent,
        first_token_ms=running.first_token_ms,
        finish_reason=running.finish_reason,
        calls=asked,
        also=None if status == Status.COMPLETE else partial(calls.abandon, running.conversation_id),
    )
    following = None
    try:
        saved = await insisted(save)
        if saved and saved[1]:
            following = _next(running, saved[1])  # at once: there is always one that a stop finds
    finally:
        _forget(running)
    if saved is not None:
        reply, pending = saved
        kind = "message.failed" if reply.is_failed else "message.done"
        publish(reply.conversation_id, kind, message=message_json(reply))
        if pending is not None:
            publish(reply.conversation_id, "message.created", message=message_json(pending))
        await sync_to_async(usage.tell)(reply.conversation_id)
        if following is not None:
            return await _end(following, Status.STOPPED, "") if pending and pending.stopping_at else following
        if reply.status == Status.COMPLETE:
            with suppress(Conversation.DoesNotExist):
                await sync_to_async(room.prepare)(reply.conversation_id)
            if titles.is_due(running.sent):
                await sync_to_async(titles.suggest_later)(reply.conversation_id, reply.pk)
    return None


def _next(running: Running, reply: Message) -> Running:
    """The reply that a stop, or whoever looks for its words, finds from now on."""
    number = running.number + 1
    following = Running(reply.conversation_id, reply.pk, running.token, running.task, number=number)
    _running[reply.conversation_id] = following
    return following


def _forget(running: Running) -> None:
    if _running.get(running.conversation_id) is running:
        del _running[running.conversation_id]
    hub.ended(running.conversation_id, str(running.reply_id))


@asynccontextmanager
async def _renewed(running: Running) -> AsyncIterator[None]:
    """Keep the lease, and what is written, while it is written."""

    def end(why: Held) -> None:
        running.stopping = why is Held.STOPPING
        running.task.cancel()

    beat = reply_lease.heartbeat(running.reply_id, running.token, text=lambda: running.text, end=end)
    beating = asyncio.create_task(beat)
    try:
        yield
    finally:
        beating.cancel()
