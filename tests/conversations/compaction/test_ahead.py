"""Summaries that are prepared before they are needed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import after_undo, ahead_of_time, compaction, snapshots
from conversations.instructions import conversation_settings, goals
from conversations.messages.protection import protect
from conversations.models import Conversation, Goal, Message, ModelProfile
from conversations.requests import usage
from conversations.runtime.events import hub
from conversations.turns import branches
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

REPORT = "## Summary\nThey list ports.\n\n## State\n- Done: some\n\n[CHECKPOINT] List the ports - COMPLETED\n"


@pytest.fixture(autouse=True)
def prepared_ahead(settings: Any) -> None:
    settings.COMPRESSION_AHEAD = True


@pytest.fixture
def near(conversation: Conversation) -> Conversation:
    """Between 2,400 tokens, where preparing begins, and the 3,000 of the budget."""
    fill(conversation, 18, words=62)
    return conversation


async def quiet(chat: Chat) -> Compaction:
    """What came of the last one, once nothing is prepared any more."""
    used = await sync_to_async(usage.usage_of_conversation)(chat.conversation)
    assert used is not None and 2_400 <= used.total < 3_000, used.total
    async with asyncio.timeout(10):
        while True:
            await asyncio.sleep(0.05)
            row = await Compaction.objects.order_by("-created_at").afirst()
            if row is not None and not row.is_active:
                await chat.refresh()
                return row


async def readied(chat: Chat) -> Compaction:
    await chat.say("hello")
    row = await quiet(chat)
    assert (row.trigger, row.status) == ("ahead", "ready"), row.error
    return row


async def fill_up(chat: Chat) -> Message:
    return await chat.say("so " * 700 + "what now?")


async def test_from_near_the_threshold_on_a_summary_is_ready_and_nothing_else_changes(near: Any, chat: Chat) -> None:
    with hub.listen(near.pk) as listener:
        row = await readied(chat)
        seen = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    started = next(event for event in seen if event.type == "compression.started")
    assert started.data["blocking"] is False
    assert row.summariser == "scripted" and row.messages_condensed and row.post_tokens < row.pre_tokens
    assert chat.conversation.compressed_at is None
    assert not await Snapshot.objects.aexists()
    await chat.say("still all of it?")
    assert "[Compressed" not in chat.llm.chats[-1].text
    await chat.check()


async def test_it_is_put_in_force_when_it_is_due_and_nobody_waits_for_a_model(near: Any, chat: Chat) -> None:
    row = await readied(chat)
    asked = len(chat.llm.summaries)
    chat.llm.summary_takes(seconds=30)
    began = time.perf_counter()
    await fill_up(chat)
    assert time.perf_counter() - began < 10
    assert len(chat.llm.summaries) == asked
    await chat.refresh()
    after = await Compaction.objects.aget(pk=row.pk)
    assert (after.status, after.prepared, after.duration_ms) == ("succeeded", None, row.duration_ms)
    assert chat.conversation.compressed_at is not None
    assert "[Compressed Message Summary]" in chat.llm.chats[-1].text
    await chat.check()
    used = await sync_to_async(usage.usage_of_conversation)(chat.conversation)
    assert used is not None and used.ratio < 0.8


async def test_undo_of_what_was_prepared_is_exact(near: Any, chat: Chat) -> None:
    row = await readied(chat)
    await fill_up(chat)
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    await chat.refresh()
    assert chat.conversation.compressed_context is None
    assert (await Compaction.objects.aget(pk=row.pk)).status == "undone"
    await sync_to_async(after_undo.resume)(chat.conversation.pk)
    await chat.say("all there?")
    await chat.check()


@pytest.mark.parametrize("change", ["edit", "compact", "restore", "window"])
async def test_it_is_discarded_where_it_holds_no_more(near: Any, chat: Chat, change: str) -> None:
    row = await readied(chat)
    third = await Message.objects.filter(role="user").order_by("created_at").afirst()
    assert third is not None
    if change == "edit":
        await sync_to_async(branches.edit)(chat.conversation, third.pk, content="Other words. " * 300)
        while await Message.objects.filter(status="streaming").aexists():
            await asyncio.sleep(0.02)
        await sync_to_async(fill_more)(chat.conversation)
    elif change == "compact":
        assert (await chat.compact(keep_recent=8)).status == "succeeded"
        await sync_to_async(fill_more)(chat.conversation)
    elif change == "restore":
        assert (await chat.compact(keep_recent=8)).status == "succeeded"
        await sync_to_async(snapshots.rollback)(chat.conversation)
        await sync_to_async(after_undo.resume)(chat.conversation.pk)
        await Checkpoint.objects.aupdate(digest="0" * 64)
    else:
        await ModelProfile.objects.aupdate(window=700)
    await fill_up(chat) if change != "window" else await chat.say("short")
    await chat.refresh()
    ready = await Compaction.objects.aget(pk=row.pk)
    if change == "restore":
        assert ready.status == "succeeded"  # the same state as before: it holds
    else:
        assert ready.status == "discarded"
    await chat.check()


def fill_more(conversation: Conversation) -> None:
    last = Message.objects.filter(conversation=conversation).order_by("-created_at").first()
    assert last is not None
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            role=("user", "assistant")[number % 2],
            content=f"more {number} " + "word " * 200,
            token_count=210,
            created_at=max(timezone.now(), last.created_at) + timezone.timedelta(seconds=number + 1),
        )
        for number in range(8)
    )


async def test_what_is_protected_meanwhile_is_sent_word_for_word(near: Any, chat: Chat) -> None:
    await readied(chat)
    first = await Message.objects.order_by("created_at").afirst()
    assert first is not None
    await sync_to_async(protect)(chat.conversation, first.pk, on=True)
    await fill_up(chat)
    await chat.refresh()
    assert str(first.pk) in chat.conversation.verbatim_ids
    assert first.content in chat.llm.chats[-1].text
    await chat.check()


async def test_a_goal_advances_when_it_is_put_in_force_and_not_before(near: Any, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(near, description="Know the ports")
    chat.llm.enqueue_summary(REPORT, times=3)
    await readied(chat)
    assert (await Goal.objects.aget()).checkpoints == []
    await fill_up(chat)
    assert (await Goal.objects.aget()).checkpoints[0]["status"] == "completed"


async def test_what_is_being_prepared_when_the_goal_changes_says_nothing_of_the_new_one(near: Any, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(near, description="Know the ports")
    chat.llm.enqueue_summary(REPORT, delay=0.5)
    await chat.say("hello")
    async with asyncio.timeout(5):
        while not await Compaction.objects.filter(trigger="ahead", stage="summarise").aexists():
            await asyncio.sleep(0.01)
    await sync_to_async(goals.set_goal)(near, description="Something else")
    async with asyncio.timeout(10):
        while await Compaction.objects.filter(status__in=Compaction.ACTIVE).aexists():
            await asyncio.sleep(0.05)
    assert (await Compaction.objects.alatest("created_at")).status == "discarded"
    await fill_up(chat)
    assert (await Goal.objects.aget(status="active")).checkpoints == []


async def test_a_person_goes_before_what_is_only_prepared(near: Any, chat: Chat) -> None:
    chat.llm.summary_takes(seconds=0.5)
    await chat.say("hello")
    async with asyncio.timeout(5):
        while not await Compaction.objects.filter(trigger="ahead", status="running").aexists():
            await asyncio.sleep(0.01)
    row = await chat.compact()
    assert row.status == "succeeded"
    prepared = await Compaction.objects.aget(trigger="ahead")
    assert prepared.status == "discarded"
    await chat.idle()  # its worker too has ended
    assert (await Compaction.objects.aget(trigger="ahead")).status == "discarded"
    assert await Checkpoint.objects.acount() == 1
    await chat.say("and now?")
    await chat.check()


async def test_a_turn_that_is_due_waits_for_what_is_being_prepared_and_uses_it(near: Any, chat: Chat) -> None:
    chat.llm.summary_takes(seconds=0.4)
    await chat.say("hello")
    async with asyncio.timeout(5):
        while not await Compaction.objects.filter(trigger="ahead", status="running").aexists():
            await asyncio.sleep(0.01)
    await fill_up(chat)
    assert [row.status async for row in Compaction.objects.all()] == ["succeeded"]
    await chat.check()


async def test_it_is_prepared_once_and_not_where_it_is_switched_off(near: Any, chat: Chat) -> None:
    await readied(chat)
    for _ in range(3):
        await chat.say("ok")
        await quiet(chat)
    assert await Compaction.objects.acount() == 1
    await sync_to_async(conversation_settings.change)(chat.conversation, policy={"ahead": False})
    await Compaction.objects.all().adelete()
    await chat.say("ok")
    await chat.idle()
    assert not await Compaction.objects.aexists()


async def test_far_from_the_threshold_nothing_is_prepared(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 8)
    await chat.say("hello")
    await chat.idle()
    assert not await Compaction.objects.aexists()


async def test_two_that_put_it_in_force_at_once_do_it_once(near: Any, chat: Chat) -> None:
    await readied(chat)
    done = await asyncio.gather(*(asyncio.to_thread(put_in_force, near.pk) for _ in range(4)))
    assert sum(done) == 1
    assert await Checkpoint.objects.filter(active=True).acount() == 1
    assert await Snapshot.objects.filter(purpose="rollback").acount() == 1


def put_in_force(pk: Any) -> bool:
    from django.db import connections

    try:
        return ahead_of_time.put_in_force(pk)
    finally:
        connections.close_all()


async def test_two_long_messages_are_enough_to_prepare(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 3, words=400)
    row = await readied(chat)
    assert row.messages_condensed == 2
    await chat.check()
