"""Replies whose worker is gone: taken up again, or ended with what was saved of them, once."""

from __future__ import annotations

import asyncio
import gc
import warnings
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from compression.ids import uuid7
from compression.leases import expiry
from conversations.messages import replies, tool_calls
from conversations.models import Conversation, Message
from conversations.runtime import queue
from conversations.turns import recovery, stop
from tests.conversations.chat import Chat, fill
from tests.conversations.conftest import chat

__all__ = ["chat"]

LEASE = timedelta(seconds=60)


async def left_behind(conversation: Conversation, *, age: timedelta = LEASE, **fields: Any) -> Message:
    """A question whose reply began `age` ago, and whose lease has just run out."""
    now = timezone.now()
    await sync_to_async(fill)(conversation, 2)
    question = Message(conversation=conversation, role="user", content="what now?", created_at=now - age, token_count=9)
    lease = {"lease_expires_at": now - timedelta(seconds=0.1)}
    reply = Message(
        conversation=conversation, role="assistant", status="streaming",
        created_at=now - age + timedelta(microseconds=1), **lease | fields,
    )  # fmt: skip
    await Message.objects.abulk_create([question, reply])
    return reply


async def test_what_nobody_took_up_is_written_by_whoever_is_woken(chat: Chat) -> None:
    reply = await left_behind(chat.conversation)
    assert await sync_to_async(recovery.sweep)() == 1
    assert (await chat.ended(reply.pk)).content == "All right."


async def test_what_has_words_already_is_ended_and_keeps_them(chat: Chat) -> None:
    reply = await left_behind(chat.conversation, lease_token=uuid7(), content="half of an answ")
    await sync_to_async(recovery.sweep)()
    ended = await Message.objects.aget(pk=reply.pk)
    assert (ended.status, ended.content, ended.error) == ("interrupted", "half of an answ", replies.INTERRUPTED)
    assert ended.token_count == tool_calls.tokens_of("half of an answ", ())
    assert not chat.llm.chats


@pytest.mark.parametrize("age", [LEASE, 3 * LEASE, timedelta(minutes=11)])
async def test_what_had_not_one_word_when_its_worker_died_is_begun_anew(chat: Chat, age: timedelta) -> None:
    reply = await left_behind(chat.conversation, lease_token=uuid7(), age=age)
    await sync_to_async(recovery.sweep)()
    assert (await chat.ended(reply.pk)).status == "complete"


@pytest.mark.parametrize(
    ("takeovers", "ends"), [(recovery.TAKEOVERS - 1, "complete"), (recovery.TAKEOVERS, "interrupted")]
)
async def test_what_brings_its_workers_down_is_not_tried_for_ever(chat: Chat, takeovers: int, ends: str) -> None:
    reply = await left_behind(chat.conversation, lease_token=uuid7(), takeovers=takeovers)
    await sync_to_async(recovery.sweep)()
    assert (await chat.ended(reply.pk)).status == ends
    assert len(chat.llm.chats) == (ends == "complete")


@pytest.mark.parametrize("token", [None, uuid7()])
async def test_what_was_asked_to_stop_is_stopped(chat: Chat, token: Any) -> None:
    reply = await left_behind(chat.conversation, lease_token=token, stopping_at=timezone.now(), content="so far")
    await sync_to_async(recovery.sweep)()
    ended = await Message.objects.aget(pk=reply.pk)
    assert (ended.status, ended.content, ended.error) == ("stopped", "so far", "")


@pytest.mark.parametrize("token", [None, uuid7()])
async def test_a_lease_that_is_not_over_is_left_alone(chat: Chat, token: Any) -> None:
    reply = await left_behind(chat.conversation, lease_token=token, lease_expires_at=expiry())
    assert await sync_to_async(recovery.sweep)() == 0
    assert (await Message.objects.aget(pk=reply.pk)).lease_token == token


@pytest.mark.parametrize(("minutes", "ends", "requests"), [(9, "complete", 1), (11, "failed", 0)])
async def test_after_ten_minutes_nobody_waits_any_more(chat: Chat, minutes: int, ends: str, requests: int) -> None:
    reply = await left_behind(chat.conversation, age=timedelta(minutes=minutes))
    await sync_to_async(recovery.sweep)()
    ended = await chat.ended(reply.pk)
    assert (ended.status, len(chat.llm.chats)) == (ends, requests)
    assert ended.error == (recovery.NOBODY if ends == "failed" else "")


async def test_two_that_sweep_at_once_wake_one_worker(chat: Chat) -> None:
    reply = await left_behind(chat.conversation)
    found = await Message.objects.aget(pk=reply.pk)
    now = timezone.now()
    await sync_to_async(recovery._see_to)(found, now)
    await sync_to_async(recovery._see_to)(found, now)
    await chat.ended(reply.pk)
    assert len(chat.llm.chats) == 1


async def test_what_is_delivered_five_times_is_written_once(chat: Chat) -> None:
    begun = await chat.send("hello")
    again = ("answer", str(chat.conversation.pk), str(begun.reply.pk))
    for token in ((), (str(begun.reply.lease_token),)):
        for _ in range(5):
            await sync_to_async(queue.enqueue)(*again, *token)
    await chat.ended(begun.reply.pk)
    for _ in range(5):
        await sync_to_async(queue.enqueue)(*again)
    await chat.idle()
    assert len(chat.llm.chats) == 1


async def test_a_task_that_is_cancelled_before_it_begins_leaves_no_coroutine_that_nobody_awaits() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        task = asyncio.create_task(queue._guarded("answer", "no-conversation", "no-reply"))
        await asyncio.sleep(0)  # it closes old connections, in a thread
        task.cancel()
        await task
        gc.collect()
    assert not [str(one.message) for one in warned if "never awaited" in str(one.message)]


async def test_a_stop_in_good_order_hands_back_what_has_no_words_for_the_next_start(chat: Chat) -> None:
    chat.llm.enqueue("too late", delay=5)
    begun = await chat.send("hello")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.chats))
    work = queue._server
    assert work is not None
    await work.stop(grace=0.05)
    reply = await Message.objects.aget(pk=begun.reply.pk)
    assert (reply.status, reply.lease_token) == ("streaming", None)
    queue.attach(asyncio.get_running_loop())
    await sync_to_async(recovery.disown_all)()
    await sync_to_async(recovery.sweep)()
    assert (await chat.ended(reply.pk)).content == "All right."


async def test_a_stop_in_good_order_keeps_the_words_of_what_is_not_whole(chat: Chat) -> None:
    chat.llm.enqueue("one two three four", drip=0.2)
    begun = await chat.send("hello")
    await chat.written(begun.reply, "one")
    assert queue._server is not None
    await queue._server.stop(grace=0)
    reply = await Message.objects.aget(pk=begun.reply.pk)
    assert reply.status == "interrupted"
    assert reply.content.startswith("one")


async def test_a_stop_in_good_order_waits_for_what_ends_soon(chat: Chat) -> None:
    chat.llm.enqueue("one two", drip=0.1)
    begun = await chat.send("hello")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.chats))
    assert queue._server is not None
    await queue._server.stop(grace=3)
    assert (await Message.objects.aget(pk=begun.reply.pk)).content == "one two"


async def test_the_only_server_of_a_database_believes_no_lease(chat: Chat) -> None:
    reply = await left_behind(chat.conversation, lease_token=uuid7(), content="half", lease_expires_at=expiry())
    await sync_to_async(recovery.disown_all)()
    await sync_to_async(recovery.sweep)()
    assert (await Message.objects.aget(pk=reply.pk)).status == "interrupted"


async def test_another_processs_reply_is_stopped_by_its_row(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.8)
    chat.llm.enqueue("one two three four five six seven", drip=0.2)
    begun = await chat.send("hello")
    await chat.written(begun.reply, "one")
    assert await sync_to_async(stop._stop_elsewhere)(chat.conversation.pk)
    reply = await chat.ended(begun.reply.pk)
    assert reply.status == "stopped"
    assert reply.content.startswith("one")
    assert "seven" not in reply.content
