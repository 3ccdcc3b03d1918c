"""Runs one chat turn in the background: asks the model, streams and saves the reply, and goes on after tool calls.

A turn does not depend on an open page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import ObjectDoesNotExist

from compression.core.error_codes import ErrorCode
from compression.ids import uuid7
from conversations.agents import dispatch, planner
from conversations.agents.ask_model import ask_model, prepare_request
from conversations.agents.reply_scope import MAX_REPLY_REQUESTS, Work
from conversations.agents.tools.toolbox import Toolbox
from conversations.compaction import trigger
from conversations.context.transcript import Loaded
from conversations.errors import Refused
from conversations.llm.errors import ModelError
from conversations.messages import replies, reply_lease
from conversations.messages.answer import Answer
from conversations.messages.replies import retry
from conversations.messages.reply_lease import LeaseState
from conversations.models import Conversation, Message
from conversations.requests import shadow, usage
from conversations.runtime import event_types
from conversations.runtime.event_types import EventType
from conversations.runtime.events import hub, publish
from conversations.runtime.lease import LeaseLost
from conversations.runtime.payloads import message_json
from conversations.runtime.retry import retry_on_database_error
from conversations.turns import message_queue, titles
from conversations.turns.begin import begin
from conversations.turns.running_replies import Running, forget, in_progress, leave

__all__ = ["begin", "retry", "run"]

logger = logging.getLogger(__name__)

Status = Message.Status
STOPPED = Status.STOPPED, "", ""
INTERRUPTED = Status.INTERRUPTED, replies.INTERRUPTED, ErrorCode.WORKER_STOPPED
"""The status, error and error code of a reply whose worker was stopped."""


async def run(conversation_id: UUID, reply_id: UUID, token: UUID | None = None) -> None:
    """Write a reply and those that follow from its tool calls: make room, assemble the request, stream, save.

    However a reply ends, its text so far is kept. `token` is the lease token of a reply that was stored as this
    process's own; without a token the reply is claimed first.
    """
    running = await _taken_up(conversation_id, reply_id, token)
    if running is None:
        return  # another worker has the reply, or it has ended
    async with Toolbox() as toolbox:
        work = Work(conversation_id, running.token, toolbox)
        while running is not None:
            running = await _run(running, work)


async def _run(running: Running, work: Work) -> Running | None:
    """Make one request and save its reply; returns the next reply if this one called tools, else None."""
    status, error, code = Status.FAILED, "", ""
    try:
        async with _renewed(running):
            await _answer(running, work)
        status = Status.COMPLETE
    except asyncio.CancelledError:
        status, error, code = STOPPED if running.stopping else INTERRUPTED
    except ModelError as fault:
        error, code, running.answer.provider_words = fault.reason, fault.code, fault.provider_words
    except Refused as refusal:
        error, code = refusal.message, refusal.code if refusal.code in ErrorCode else ""
    except LeaseLost:
        status, error, code = INTERRUPTED
    except ObjectDoesNotExist:
        error, code = "What this reply needs was deleted meanwhile: the conversation, or its model.", ErrorCode.DELETED
    except Exception:
        logger.exception("reply %s failed", running.reply_id)
        error = "Something went wrong on this site; the log says what. Your message is kept."
        code = ErrorCode.FAULT_OF_THIS_SITE
    return await _ended(running, status, error, code)


async def _ended(running: Running, status: str, error: str, code: str) -> Running | None:
    """Save the reply even if this task is cancelled now.

    A follow-up reply that was already created is ended too, so that none is left without a writer.
    """
    ending = asyncio.ensure_future(_end(running, status, error, code))
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        await _to_its_end(asyncio.ensure_future(_end_next(running, ending)))
        raise


async def _end_next(running: Running, ending: asyncio.Future[Running | None]) -> None:
    """End the follow-up reply that `ending` creates, if it creates one."""
    if following := await ending:
        status = Status.STOPPED if running.stopping or following.stopping else Status.INTERRUPTED
        await _end(following, status, "")


async def _to_its_end(task: asyncio.Task[Any]) -> None:
    """Wait for `task` and ignore further cancellations: Stop can be pressed twice."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


async def _taken_up(conversation_id: UUID, reply_id: UUID, token: UUID | None) -> Running | None:
    task = asyncio.current_task()
    assert task is not None
    running = Running(conversation_id, Answer(reply_id), token or uuid7(), task)
    take = reply_lease.check if token else reply_lease.claim
    # Before the look into the database: a Stop until then is read there, and a later one finds this reply here.
    other = in_progress.setdefault(conversation_id, running)
    if other is not running and other.reply_id == reply_id:
        return None
    try:
        held = await retry_on_database_error(partial(take, reply_id, running.token))
    except asyncio.CancelledError:
        await _to_its_end(asyncio.ensure_future(_not_taken_up(running)))
        raise
    except Exception:
        leave(running)
        raise
    if held is LeaseState.LOST:
        leave(running)
        return None
    in_progress[conversation_id] = running
    if held is LeaseState.STOPPING:
        # The Stop that is noted may cancel this task too: the reply is ended all the same.
        await _to_its_end(asyncio.ensure_future(_end(running, Status.STOPPED, "")))
        return None
    return running


async def _not_taken_up(running: Running) -> None:
    """End a reply that a person stopped before its first statement, or hand it back as this worker stops."""
    if running.stopping:
        asking = partial(reply_lease.ask_to_stop, running.conversation_id)  # another worker may hold the reply
        try:
            await retry_on_database_error(asking)
            await _end(running, Status.STOPPED, "")
        finally:
            leave(running)
    else:
        leave(running)
        await replies.hand_back(running.conversation_id, running.reply_id, running.token)


async def _answer(running: Running, work: Work) -> None:
    answer = running.answer
    work.reply_id = answer.id

    def count_request() -> bool:
        work.requests += 1
        return running.number < MAX_REPLY_REQUESTS and work.may_ask

    def show(text: str) -> None:
        hub.feed(running.conversation_id, str(answer.id), text, at=answer.length)

    def show_thought(text: str) -> None:
        kind = EventType.MESSAGE_THOUGHT
        hub.feed(running.conversation_id, str(answer.id), text, at=answer.thoughts.length, kind=kind)

    make_room = partial(_make_room, running)
    loaded = await prepare_request(running.conversation_id, work, make_room=make_room, planner=planner.carry_out)
    await ask_model(
        answer,
        loaded,
        make_room=make_room,
        count_request=count_request,
        on_text=show,
        on_thought=show_thought,
        thoughts=work.thoughts,
    )


async def _make_room(running: Running, *, overflowed: bool = False) -> Loaded:
    """Load the conversation, compacted if it does not fit. Raises CancelledError if a person pressed Stop meanwhile."""
    running.makes_room = True
    loaded = await trigger.ensure_room(running.conversation_id, overflowed=overflowed)
    running.makes_room = False
    if running.stopping:
        raise asyncio.CancelledError
    return loaded


async def _end(running: Running, status: str, error: str, code: str = "") -> Running | None:
    """Save and publish the reply; returns the turn's next reply if this one called tools, else None."""
    if status == Status.INTERRUPTED and not running.answer.pieces:
        # The server stops before any text was written: another worker, or the next server, starts the reply anew.
        forget(running)
        await replies.hand_back(running.conversation_id, running.reply_id, running.token)
        return None
    saved, following = await _save(running, status, error, code)
    if saved is None:  # the reply had ended already, or its conversation was deleted
        return None
    reply, pending = saved
    window = reply.conversation.window
    publish(reply.conversation_id, event_types.ended(failed=reply.is_failed), message=message_json(reply, window))
    if pending is not None:
        publish(reply.conversation_id, EventType.MESSAGE_CREATED, message=message_json(pending, window))
    await sync_to_async(usage.publish_usage)(reply.conversation_id)
    if following is not None:
        return await _end(following, Status.STOPPED, "") if pending and pending.stopping_at else following
    if reply.status == Status.COMPLETE:
        await _look_ahead(running, reply)
    await sync_to_async(message_queue.go_on)(reply.conversation_id)
    return None


async def _save(
    running: Running, status: str, error: str, code: str
) -> tuple[tuple[Message, Message | None] | None, Running | None]:
    """Store the reply's end. Returns the result of `replies.finish`, and the follow-up reply as a running one, if any.

    A reply that did not complete calls no tools, and abandons the tool calls that were made for it.
    """
    answer, also = running.answer, None
    if status != Status.COMPLETE:
        answer.calls, also = (), partial(dispatch.abandon, running.conversation_id)
    try:
        answer.settle()
        tokens = await asyncio.to_thread(answer.tokens)
        finish = partial(replies.finish, answer, running.token, status=status, error=error, error_code=code)
        save = partial(finish, tokens=tokens, also=also)
        saved = await retry_on_database_error(save)
        # Register the next reply without an await in between: Stop must find a running reply at any time.
        return saved, _next(running, saved[1]) if saved and saved[1] else None
    finally:
        forget(running)


async def _look_ahead(running: Running, reply: Message) -> None:
    """After a complete reply, start what is due in the background: a summary ahead of time, a title, a comparison."""
    with suppress(Conversation.DoesNotExist):
        await sync_to_async(trigger.prepare_ahead)(reply.conversation_id)
    if titles.is_due(running.answer.sent):
        await sync_to_async(titles.suggest_later)(reply.conversation_id, reply.pk)
    if shadow.is_due(reply.pk, running.answer.sent):
        await sync_to_async(shadow.compare_later)(reply.conversation_id, reply.pk)


def _next(running: Running, reply: Message) -> Running:
    """Register the turn's next reply as the conversation's running reply."""
    number = running.number + 1
    following = Running(reply.conversation_id, Answer(reply.pk), running.token, running.task, number=number)
    in_progress[reply.conversation_id] = following
    return following


@asynccontextmanager
async def _renewed(running: Running) -> AsyncIterator[None]:
    """Renew the reply's lease and store its text so far, as long as the block runs."""

    def end(why: LeaseState) -> None:
        running.stopping = why is LeaseState.STOPPING
        running.task.cancel()

    beat = reply_lease.heartbeat(
        running.reply_id,
        running.token,
        text=lambda: running.text,
        thoughts=lambda: running.answer.thoughts.so_far,
        end=end,
    )
    beating = asyncio.create_task(beat)
    try:
        yield
    finally:
        beating.cancel()
