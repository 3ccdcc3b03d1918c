"""Stop, whenever it is pressed in a turn that calls tools: nothing more is asked or called for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from asgiref.sync import sync_to_async
from django.db import connection, transaction

from compression.ids import uuid7
from conversations.llm.tools import ToolRequest
from conversations.messages import replies, reply_lease
from conversations.messages.answer import Answer
from conversations.models import Conversation, Message
from conversations.turns import running_replies, stop
from tests.agents.conftest import ToolChat
from tests.statements import once_before, through

NINE = ("calculate", '{"expression": "4 + 5"}')


def is_between_two_requests(chat: ToolChat) -> Callable[[str], bool]:
    """Whether a statement comes when the first reply has ended, and the next one's request is not made yet."""

    def is_it(_: str) -> bool:
        now = running_replies.in_progress.get(chat.conversation.pk)
        return now is not None and now.number == 2

    return is_it


async def test_a_stop_between_two_requests_of_a_turn_is_heeded(chat: ToolChat) -> None:
    stopped: list[bool] = []
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("This is not asked for.")
    act = partial(_stop, chat, stopped)
    async with through(once_before(is_between_two_requests(chat), act)):
        *_, last = await chat.asks("What is 4 and 5?")
    assert stopped == [True]
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)
    assert [call.error for call in await chat.calls()] == ["It was stopped."]


async def test_who_presses_stop_twice_between_two_requests_leaves_no_reply_that_nobody_writes(chat: ToolChat) -> None:
    stopped: list[bool] = []
    chat.llm.enqueue("", calls=[NINE])
    act = partial(_stop, chat, stopped, times=3)
    async with through(once_before(is_between_two_requests(chat), act)):
        *_, last = await chat.asks("What is 4 and 5?")
    assert stopped == [True] * 3
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)
    assert [call.status for call in await chat.calls()] == ["failed"]


def _stop(chat: ToolChat, stopped: list[bool], *, times: int = 1) -> None:
    for _ in range(times):
        stopped.append(stop.stop(chat.conversation))
        time.sleep(0.02)  # the loop hears of each by itself


async def test_a_stop_at_another_process_goes_on_to_the_next_reply(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[NINE], delay=0.3)
    chat.llm.enqueue("This is not asked for.")
    begun = await chat.send("What is 4 and 5?")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.chats) == 1)
    assert await sync_to_async(stop._stop_elsewhere)(chat.conversation.pk)
    *_, last = await chat.turn_ended(begun)
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)


def is_write(sql: str) -> bool:
    return sql.startswith('UPDATE "conversations_message"')


def test_a_stop_that_comes_as_a_reply_ends_finds_the_one_after_it(conversation: Conversation) -> None:
    with transaction.atomic():
        reply = replies.store_reply(conversation)
    assert reply.lease_token is not None
    answer = Answer(reply.pk, calls=(ToolRequest("1", *NINE),))
    end = partial(replies.finish, answer, reply.lease_token, status="complete", tokens=9)
    with connection.execute_wrapper(once_before(is_write, end)):
        assert stop._stop_elsewhere(conversation.pk)
    reply.refresh_from_db()
    assert (reply.status, reply.stopping_at) == ("complete", None)
    assert Message.objects.get(status="streaming").stopping_at is not None


def test_a_stop_that_comes_as_a_worker_takes_a_reply_up_is_told_to_that_worker(conversation: Conversation) -> None:
    with transaction.atomic():
        reply = replies.store_reply(conversation)
    Message.objects.update(lease_token=None)
    take_up = partial(reply_lease.claim, reply.pk, uuid7())
    with connection.execute_wrapper(once_before(is_write, take_up)):
        assert stop._stop_elsewhere(conversation.pk)
    reply.refresh_from_db()
    assert (reply.status, reply.stopping_at is not None) == ("streaming", True)
