"""One chat turn: the question is stored, then answered in the background; the page may come and go meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import ObjectDoesNotExist

from compression.ids import milliseconds_since, uuid7
from conversations.agents import dispatch, planner
from conversations.agents.reply_scope import MAX_REPLY_REQUESTS, LeaseLost, Work
from conversations.agents.tools.toolbox import Toolbox
from conversations.compaction import trigger
from conversations.context import prompt, usage
from conversations.context.request_log import Sent
from conversations.context.transcript import Loaded
from conversations.errors import Refused
from conversations.llm.errors import ContextTooLong, ModelError
from conversations.llm.profiles import connect
from conversations.messages import replies, reply_lease
from conversations.messages.replies import retry
from conversations.messages.reply_lease import Held
from conversations.models import Conversation, Message, ModelProfile
from conversations.runtime.events import hub, publish
from conversations.runtime.payloads import message_json
from conversations.runtime.retry import retry_on_database_error
from conversations.turns import titles
from conversations.turns.begin import begin
from conversations.turns.running import Running, forget, running_replies

__all__ = ["begin", "retry", "run"]

logger = logging.getLogger(__name__)

Status = Message.Status


async def run(conversation_id: UUID, reply_id: UUID, token: UUID | None = None) -> None:
    """Answer a question: make room, assemble, stream, save. Whatever ends it, what was written is kept.

    `token` is that of a reply which was stored as this process's own; without one it is claimed first.
    """
    running = await _taken_up(conversation_id, reply_id, token)
    if running is None:
        return  # another worker has it, or it has ended
    async with Toolbox() as belt:
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
        held = await retry_on_database_error(partial(take, reply_id, running.token))
    except asyncio.CancelledError:
        await asyncio.shield(replies.hand_back(conversation_id, reply_id, running.token))
        raise
    if held is Held.LOST or ((other := running_replies.get(conversation_id)) and other.reply_id == reply_id):
        return None
    running_replies[conversation_id] = running
    if held is Held.STOPPING:
        await _end(running, Status.STOPPED, "")
        return None
    return running


async def _answer(running: Running, work: Work) -> None:
    work.reply_id = running.reply_id
    await sync_to_async(replies.settle_model)(running.conversation_id)
    loaded = await _with_room(running)
    if loaded.is_at_tools and await dispatch.carry_out(work, loaded, planner.carry_out):
        loaded = await _with_room(running)
    try:
        await _stream(running, work, loaded)
    except ContextTooLong:
        if running.pieces:
            raise
        loaded = await _with_room(running, overflowed=True)
        await _stream(running, work, loaded)


async def _with_room(running: Running, *, overflowed: bool = False) -> Loaded:
    """The conversation as it can be sent. Raises CancelledError where a person stopped what it waited for."""
    running.makes_room = True
    loaded = await trigger.ensure_room(running.conversation_id, overflowed=overflowed)
    running.makes_room = False
    if running.stopping:
        raise asyncio.CancelledError
    return loaded


async def _stream(running: Running, work: Work, loaded: Loaded) -> None:
    profile = await ModelProfile.objects.aget(pk=loaded.head.profile_id or 0)
    work.requests += 1
    assembled = prompt.assemble(loaded, may_call=running.number < MAX_REPLY_REQUESTS and work.may_ask)
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
        forget(running)
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
        also=None if status == Status.COMPLETE else partial(dispatch.abandon, running.conversation_id),
    )
    following = None
    try:
        saved = await retry_on_database_error(save)
        if saved and saved[1]:
            following = _next(running, saved[1])  # at once: there is always one that a stop finds
    finally:
        forget(running)
    if saved is not None:
        reply, pending = saved
        kind = "message.failed" if reply.is_failed else "message.done"
        publish(reply.conversation_id, kind, message=message_json(reply))
        if pending is not None:
            publish(reply.conversation_id, "message.created", message=message_json(pending))
        await sync_to_async(usage.publish_usage)(reply.conversation_id)
        if following is not None:
            return await _end(following, Status.STOPPED, "") if pending and pending.stopping_at else following
        if reply.status == Status.COMPLETE:
            with suppress(Conversation.DoesNotExist):
                await sync_to_async(trigger.prepare_ahead)(reply.conversation_id)
            if titles.is_due(running.sent):
                await sync_to_async(titles.suggest_later)(reply.conversation_id, reply.pk)
    return None


def _next(running: Running, reply: Message) -> Running:
    """The reply that a stop, or whoever looks for its words, finds from now on."""
    number = running.number + 1
    following = Running(reply.conversation_id, reply.pk, running.token, running.task, number=number)
    running_replies[reply.conversation_id] = following
    return following


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
