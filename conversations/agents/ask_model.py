"""One request to a model, for a chat's reply and for an executor's step alike: made ready, then asked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Protocol
from uuid import UUID

from asgiref.sync import sync_to_async

from conversations.agents import dispatch
from conversations.agents.dispatch import Planner
from conversations.agents.reply_scope import Work
from conversations.context import prompt
from conversations.context.request_log import Sent
from conversations.context.transcript import Loaded
from conversations.llm.errors import ContextTooLong
from conversations.llm.profiles import connect
from conversations.messages import replies
from conversations.messages.answer import Answer
from conversations.models import ModelProfile


class MakeRoom(Protocol):
    """Gives the conversation as it can be sent, compacted first where that is due, as `trigger.ensure_room` does."""

    async def __call__(self, *, overflowed: bool = False) -> Loaded: ...


async def prepare_request(
    conversation_id: UUID, work: Work, *, make_room: MakeRoom, planner: Planner | None = None
) -> Loaded:
    """The conversation as its model is asked next: with room, and with the results of the calls that waited.

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
) -> None:
    """Ask the model of `loaded`, and collect what it answers in `answer`; once more where the request was too long.

    `count_request` counts each request, and says whether its answer may call tools. `on_text` is given each piece of
    the answer's text before it is added; an answer that was begun before somebody's eyes is not begun again.
    Raises ModelError, and what `make_room` and `count_request` raise.
    """
    try:
        await _stream(answer, loaded, count_request=count_request, on_text=on_text)
    except ContextTooLong:
        if answer.pieces and on_text:
            raise
        answer.restart()
        loaded = await make_room(overflowed=True)
        await _stream(answer, loaded, count_request=count_request, on_text=on_text)


async def _stream(
    answer: Answer, loaded: Loaded, *, count_request: Callable[[], bool], on_text: Callable[[str], None] | None
) -> None:
    profile = await ModelProfile.objects.aget(pk=loaded.head.profile_id or 0)
    answer.sent = sent = Sent(loaded, prompt.assemble(loaded, may_call=count_request()), profile)
    async with aclosing(connect(profile, used=sent.used).stream(sent.prompt)) as deltas:
        async for delta in deltas:
            if delta.text and on_text:
                on_text(delta.text)
            answer.add(delta)
