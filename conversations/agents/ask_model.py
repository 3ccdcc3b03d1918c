"""Prepares and makes one request to a model, for the reply of a chat or the step of an executor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Protocol
from uuid import UUID

from asgiref.sync import sync_to_async

from conversations.agents import dispatch
from conversations.agents.dispatch import Planner
from conversations.agents.reply_scope import Work
from conversations.agents.turn_thoughts import TurnThoughts
from conversations.context import prompt
from conversations.context.transcript import Loaded
from conversations.llm.errors import ContextTooLong
from conversations.llm.profiles import connect
from conversations.llm.retries import SLOT_PAUSES, SMALL_SHARE
from conversations.messages import replies
from conversations.messages.answer import Answer
from conversations.messages.thoughts import Thoughts
from conversations.models import ModelProfile
from conversations.requests.request_log import SentRequest
from conversations.requests.usage import usage_of


class MakeRoom(Protocol):
    """Loads a conversation ready to send, after a compaction if one is due, like `trigger.ensure_room`."""

    async def __call__(self, *, overflowed: bool = False) -> Loaded: ...


async def prepare_request(
    conversation_id: UUID, work: Work, *, make_room: MakeRoom, planner: Planner | None = None
) -> Loaded:
    """Load the conversation for its next request: with room made, and pending tool calls carried out.

    Raises NotConfigured, TooLarge, LeaseLost.
    """
    await sync_to_async(replies.settle_model)(conversation_id)
    loaded = await make_room()
    if loaded.is_at_tools and await dispatch.carry_out(work, loaded, planner):
        loaded = await make_room()
    return loaded


async def ask_model(
    answer: Answer,
    loaded: Loaded,
    *,
    make_room: MakeRoom,
    count_request: Callable[[], bool],
    on_text: Callable[[str], None] | None = None,
    on_thought: Callable[[str], None] | None = None,
    thoughts: TurnThoughts,
) -> None:
    """Ask the model of `loaded` and collect its reply in `answer`; asks once more if the request was too long.

    `count_request` counts each request and returns whether the reply may call tools. `on_text` is called with each
    piece of text before it is added; with `on_text`, a reply that has begun already is not started again, as people
    may have read it. `on_thought` is called with each piece of its thoughts; `thoughts` are those of the turn's earlier
    replies, which the request has too. Raises ModelError and the errors of `make_room` and `count_request`.
    """
    ask = partial(_stream, answer, count_request=count_request, on_text=on_text, on_thought=on_thought)
    try:
        await ask(loaded, thoughts)
    except ContextTooLong as refusal:
        if answer.pieces and on_text:
            raise
        answer.restart()
        if refusal.is_servers_fault and is_small(loaded):
            await _once_there_is_room(ask, loaded, thoughts, answer)
            return
        loaded = await make_room(overflowed=True)
        await ask(loaded, TurnThoughts())  # the thoughts may be what was too long
    if answer.thoughts.returned:
        await asyncio.to_thread(thoughts.note, answer)
    else:
        thoughts.note(answer)


def is_small(loaded: Loaded) -> bool:
    """Whether the request takes at most SMALL_SHARE of the window: then it cannot be too long."""
    usage = usage_of(loaded)
    return usage is not None and usage.total <= SMALL_SHARE * usage.window.size


async def _once_there_is_room(
    ask: Callable[[Loaded, TurnThoughts], Awaitable[None]], loaded: Loaded, thoughts: TurnThoughts, answer: Answer
) -> None:
    """Ask again after each of SLOT_PAUSES: the server's slots were full. Raises the last refusal."""
    for last, seconds in enumerate(SLOT_PAUSES, 1):
        await asyncio.sleep(seconds)
        try:
            await ask(loaded, thoughts)
        except ContextTooLong:
            if last == len(SLOT_PAUSES):
                raise
            answer.restart()
        else:
            thoughts.note(answer)
            return


async def _stream(
    answer: Answer,
    loaded: Loaded,
    thoughts: TurnThoughts,
    *,
    count_request: Callable[[], bool],
    on_text: Callable[[str], None] | None,
    on_thought: Callable[[str], None] | None,
) -> None:
    profile = await ModelProfile.objects.aget(pk=loaded.head.profile_id or 0)
    bare = SentRequest(loaded, prompt.assemble(loaded, may_call=count_request()), profile)
    answer.sent, returned = await thoughts.added(bare)
    model = connect(profile, used=bare.used + returned, effort=loaded.head.effort)
    async with aclosing(model.stream(answer.sent.prompt)) as deltas:
        async for delta in deltas:
            if delta.forgets_thoughts:
                answer.thoughts = Thoughts()
            if delta.thought and on_thought:
                on_thought(answer.thoughts.fitting(delta.thought))
            if delta.text and on_text:
                on_text(delta.text)
            answer.add(delta)
