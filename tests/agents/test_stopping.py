"""Stop, whenever it is pressed in a turn that calls tools: nothing more is asked or called for it."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import QuerySet

from compression.ids import uuid7
from conversations.context import usage
from conversations.llm.tools import ToolRequest
from conversations.messages import replies, reply_lease
from conversations.messages.answer import Answer
from conversations.models import Conversation, Message
from conversations.turns import recovery, stop
from tests.agents.conftest import ToolChat

NINE = ("calculate", '{"expression": "4 + 5"}')


async def test_a_stop_between_two_requests_of_a_turn_is_heeded(chat: ToolChat, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []

    def tell(conversation_id: UUID) -> None:
        if not stopped:
            stopped.append(stop.stop(chat.conversation))

    monkeypatch.setattr(usage, "publish_usage", tell)
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("This is not asked for.")
    *_, last = await chat.asks("What is 4 and 5?")
    assert stopped == [True]
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)
    assert [call.error for call in await chat.calls()] == ["It was stopped."]


async def test_who_presses_stop_twice_between_two_requests_leaves_no_reply_that_nobody_writes(
    chat: ToolChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(conversation_id: UUID) -> None:
        for _ in range(3):
            stop.stop(chat.conversation)
            time.sleep(0.02)

    monkeypatch.setattr(usage, "publish_usage", tell)
    chat.llm.enqueue("", calls=[NINE])
    *_, last = await chat.asks("What is 4 and 5?")
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)
    assert [call.status for call in await chat.calls()] == ["failed"]


async def test_a_stop_at_another_process_goes_on_to_the_next_reply(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[NINE], delay=0.3)
    chat.llm.enqueue("This is not asked for.")
    begun = await chat.send("What is 4 and 5?")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.chats) == 1)
    assert await sync_to_async(stop._stop_elsewhere)(chat.conversation.pk)
    *_, last = await chat.turn_ended(begun)
    assert (last.status, len(chat.llm.chats)) == ("stopped", 1)


def test_a_stop_that_comes_as_a_reply_ends_finds_the_one_after_it(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = reply_lease.held
    with transaction.atomic():
        reply = replies.store_reply(conversation)
    assert reply.lease_token is not None

    def just_ended(reply_id: UUID, token: UUID) -> QuerySet[Message]:
        monkeypatch.setattr(recovery.reply_lease, "held", held)
        answer = Answer(reply_id, calls=(ToolRequest("1", *NINE),))
        assert replies.finish(answer, token, status="complete", tokens=9)
        return held(reply_id, token)

    monkeypatch.setattr(recovery.reply_lease, "held", just_ended)
    assert stop._stop_elsewhere(conversation.pk)
    assert Message.objects.get(status="streaming").stopping_at is not None


def test_a_stop_that_comes_as_a_worker_takes_a_reply_up_is_told_to_that_worker(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transaction.atomic():
        reply = replies.store_reply(conversation)
    Message.objects.update(lease_token=None)
    give_up = recovery.give_up

    def taken_up(row: Message, **how: Any) -> bool:
        reply_lease.claim(row.pk, uuid7())
        return give_up(row, **how)

    monkeypatch.setattr(recovery, "give_up", taken_up)
    assert stop._stop_elsewhere(conversation.pk)
    reply.refresh_from_db()
    assert (reply.status, reply.stopping_at is not None) == ("streaming", True)
