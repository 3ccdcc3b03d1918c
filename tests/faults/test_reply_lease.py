"""The lease of a reply: what is written is saved at each beat, and who has lost it writes nothing more."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from compression.ids import uuid7
from conversations.messages import replies, reply_lease
from conversations.messages.reply_lease import LeaseState
from conversations.models import Message
from conversations.turns import recovery, running_replies
from tests.conversations.chat import Chat
from tests.conversations.conftest import chat

__all__ = ["chat"]


def run_out() -> None:
    Message.objects.streaming().update(lease_expires_at=timezone.now())


async def writing(chat: Chat) -> Message:
    """A reply with some words, in the making."""
    begun = await chat.send("hello")
    async with asyncio.timeout(5):
        while not running_replies.text_so_far(begun.reply):
            await asyncio.sleep(0.01)
    return begun.reply


async def saved_beyond(reply: Message, content: str) -> Message:
    """The row, once it holds more than this."""
    async with asyncio.timeout(5):
        while (row := await Message.objects.aget(pk=reply.pk)).content <= content:
            await asyncio.sleep(0.01)
    return row


async def test_what_is_written_is_saved_at_each_beat(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.4)
    text = "word " * 60
    chat.llm.enqueue(text, drip=0.1)
    reply = await writing(chat)
    first = await saved_beyond(reply, "")
    second = await saved_beyond(reply, first.content)
    assert "" < first.content < second.content
    assert second.status == "streaming"
    assert second.lease_expires_at > first.lease_expires_at  # type: ignore[operator]
    assert (await chat.ended(reply.pk)).content == text


async def test_a_late_heartbeat_revives_nothing(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LEASE_SECONDS", 2)
    chat.llm.enqueue("one two three four five six", drip=0.3)
    reply = await writing(chat)
    saved = await Message.objects.aget(pk=reply.pk)
    await Message.objects.filter(pk=reply.pk).aupdate(content="one", lease_expires_at=timezone.now())
    await sync_to_async(recovery.sweep)()
    assert saved.lease_token
    lost: asyncio.Queue[LeaseState] = asyncio.Queue()
    async with asyncio.timeout(10):
        await reply_lease.heartbeat(reply.pk, saved.lease_token, text=lambda: "one two three", end=lost.put_nowait)
    assert lost.get_nowait() is LeaseState.LOST
    async with asyncio.timeout(10):
        while running_replies.in_progress:  # its own heartbeat finds out too
            await asyncio.sleep(0.01)
    assert reply.conversation_id not in running_replies.in_progress
    ended = await Message.objects.aget(pk=reply.pk)
    assert (ended.status, ended.content) == ("interrupted", "one")


async def test_the_end_of_a_reply_that_another_has_taken_over_is_not_written(chat: Chat) -> None:
    chat.llm.enqueue("the first one's", delay=0.4)
    begun = await chat.send("hello")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.chats))
    await Message.objects.filter(pk=begun.reply.pk).aupdate(lease_token=uuid7())
    async with asyncio.timeout(5):
        while running_replies.in_progress:
            await asyncio.sleep(0.01)
    reply = await Message.objects.aget(pk=begun.reply.pk)
    assert (reply.status, reply.content) == ("streaming", "")


async def test_one_of_many_workers_has_it(chat: Chat) -> None:
    chat.llm.enqueue("slow", delay=0.3)
    begun = await chat.send("hello")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.chats))
    await sync_to_async(reply_lease.hand_back)(begun.reply.pk, (await stored(begun.reply)).lease_token)
    claims = [await sync_to_async(reply_lease.claim)(begun.reply.pk, uuid7()) for _ in range(3)]
    assert claims == [LeaseState.OURS, LeaseState.LOST, LeaseState.LOST]


async def test_a_reply_that_was_taken_up_meanwhile_is_not_given_up(chat: Chat) -> None:
    chat.llm.enqueue("slow", delay=0.3)
    begun = await chat.send("hello")
    found = await stored(begun.reply)
    assert found.lease_token
    await reply_lease.held(found.pk, found.lease_token).aupdate(lease_expires_at=reply_lease.expiry())
    assert not await sync_to_async(replies.give_up)(found, status="interrupted")
    assert (await chat.ended(found.pk)).content == "slow"


async def stored(reply: Message) -> Message:
    return await Message.objects.aget(pk=reply.pk)
