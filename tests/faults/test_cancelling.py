"""A compaction that a person cancels: nothing has changed, its model is not asked any more, and exactly one wins."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection
from django.test import Client

from compression.core import pipeline
from compression.core.extractive.summariser import Extractive
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import cancel, compaction, lease
from conversations.compaction import commit as compaction_commit
from conversations.compaction import trigger as room
from conversations.context import transcript
from conversations.errors import Conflict
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.runtime.events import hub
from conversations.turns import running_replies, stop, turn
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill
from tests.conversations.conftest import chat
from tests.llm_server import LlmServer
from tests.statements import through

__all__ = ["chat"]


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    ModelProfile.objects.update(price_input=1, price_output=2)
    fill(conversation, 20)
    return conversation


async def unheard(stage: str, percent: int) -> None:
    """The callback of a caller that needs no stages."""


async def thinking(chat: Chat, trigger: str = "manual") -> Compaction:
    """A compaction that waits for its summary, for a minute if nobody cancels it."""
    chat.llm.summary_takes(seconds=60)
    row = await chat.start_compaction(trigger)
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    return row


async def closed(llm: LlmServer) -> None:
    await asyncio.to_thread(llm.wait_for, lambda llm: llm.aborted > 0, seconds=20)


async def assert_nothing_has_changed(chat: Chat) -> None:
    await chat.refresh()
    assert (chat.conversation.compressed_context, chat.conversation.compressed_at) == (None, None)
    assert not await Checkpoint.objects.aexists()
    assert not await Snapshot.objects.aexists()


async def test_the_api_cancels_and_the_model_is_not_asked_any_more(filled: Conversation, chat: Chat) -> None:
    row = await thinking(chat)
    api = await sync_to_async(Api)(await User.objects.aget())
    with hub.listen(filled.pk) as listener:
        told = await sync_to_async(api.client.delete)(f"/api/tasks/{row.pk}")
        assert (told.status_code, told.json()["status"], told.json()["eta_seconds"]) == (200, "cancelled", 0)
        assert "nothing has changed" in told.json()["error"]
        await closed(chat.llm)
        events = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    assert [event.data["status"] for event in events if event.type == "compression.completed"] == ["cancelled"]
    await assert_nothing_has_changed(chat)
    again = await sync_to_async(api.client.delete)(f"/api/tasks/{row.pk}")
    assert refused(again, 409, "compaction_over")["status"] == "cancelled"
    chat.llm.summary_takes(seconds=0)
    assert (await chat.compact()).status == "succeeded"


async def test_what_was_paid_until_then_is_recorded(conversation: Conversation, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(price_input=1, price_output=2)
    await sync_to_async(fill)(conversation, 60, words=60)
    chat.llm.enqueue_summary()
    chat.llm.summary_takes(seconds=60)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 4)
    await asyncio.sleep(0.3)  # the first of the four is answered at once
    await sync_to_async(cancel.cancel)(row)
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: llm.aborted == 3, seconds=20)
    asked = sum(request.tokens for request in chat.llm.summaries)
    async with asyncio.timeout(5):
        while not (row := await Compaction.objects.aget(pk=row.pk)).prompt_tokens:
            await asyncio.sleep(0.01)
    assert asked - 200 < row.prompt_tokens <= asked + 200
    assert row.completion_tokens and row.cost_usd
    assert row.status == "cancelled"


async def test_what_failed_was_paid_for_too(filled: Conversation, chat: Chat) -> None:
    row = await thinking(chat, "api")
    await Conversation.objects.filter(pk=filled.pk).aupdate(compression_version=5)
    await sync_to_async(cancel.cancel)(row)
    chat.llm.summary_takes(seconds=0)
    chat.llm.enqueue_summary(delay=0.3)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 2)
    await Conversation.objects.filter(pk=filled.pk).aupdate(compression_version=6)
    row = await chat.compacted(row.pk)
    assert row.status == "discarded" and row.prompt_tokens and row.completion_tokens


async def test_a_worker_elsewhere_notices_within_seconds(filled: Conversation, chat: Chat) -> None:
    """Nobody wakes it: it looks at its row."""
    row = await thinking(chat)
    lease._watches.clear()
    await sync_to_async(cancel.cancel)(row)
    await closed(chat.llm)
    await assert_nothing_has_changed(chat)


async def test_one_that_no_worker_has_taken_up_is_cancelled_too(filled: Conversation, chat: Chat) -> None:
    row = await sync_to_async(lease.claim)(filled.pk, trigger="manual", steering=Steering())
    await sync_to_async(cancel.cancel)(row)
    await compaction.run(row.pk)
    assert (await Compaction.objects.aget(pk=row.pk)).status == "cancelled"
    assert not chat.llm.summaries


@pytest.mark.parametrize("pause", [0.0, 0.01, 0.02, 0.03, 0.05])
async def test_of_a_cancel_and_a_commit_at_once_exactly_one_wins(
    filled: Conversation, chat: Chat, pause: float
) -> None:
    chat.llm.enqueue_summary(delay=0.2)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    await asyncio.sleep(0.2 + pause)
    try:
        await asyncio.to_thread(cancel.cancel, row)  # in a thread, and on a connection, of its own
    except Conflict:
        ended, expected = await chat.compacted(row.pk), "succeeded"
    else:
        ended, expected = await chat.compacted(row.pk), "cancelled"
    assert ended.status == expected
    async with asyncio.timeout(5):
        while row.pk in lease._watches:
            await asyncio.sleep(0.01)
    assert (await Compaction.objects.aget(pk=row.pk)).status == expected
    assert await Checkpoint.objects.aexists() is chat.conversation.is_compressed is (expected == "succeeded")


async def test_a_cancel_within_the_commit_leaves_nothing_of_it(filled: Conversation, chat: Chat) -> None:
    row = await sync_to_async(lease.claim)(filled.pk, trigger="auto", steering=Steering())
    done: list[int] = []

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith('UPDATE "compression_compaction"') and "succeeded" in map(str, params) and not done:
            rows = Compaction.objects.filter(pk=row.pk, status__in=Compaction.ACTIVE)
            done.append(0)
            done.append(rows.update(status="cancelled"))
        return execute(sql, params, many, context)

    def commit(*args: Any, **how: Any) -> None:
        with connection.execute_wrapper(meanwhile):
            compaction_commit.commit(*args, **how)

    loaded = await sync_to_async(transcript.load)(filled.pk)
    source = await sync_to_async(compaction.source)(loaded, rebuild=True)
    draft = await pipeline.compact(
        source, Policy(), steering=Steering(), summariser=Extractive(), count=count_tokens, on_stage=unheard
    )
    row = await sync_to_async(lease.start)(row.pk, row.lease_token)
    assert row is not None
    with pytest.raises(lease.LeaseLost):
        await sync_to_async(commit)(row, loaded.head, draft, summariser="extractive")
    assert done == [0, 1]
    await assert_nothing_has_changed(chat)


async def test_the_turn_goes_on_without_the_one_that_was_cancelled_if_it_fits(
    conversation: Conversation, chat: Chat
) -> None:
    await ModelProfile.objects.aupdate(window=16_000)
    await sync_to_async(fill)(conversation, 40)
    await Message.objects.aupdate(token_count=340)
    chat.llm.summary_takes(seconds=60)
    begun = await chat.send("what was port 3?")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    row = await Compaction.objects.aget()
    await sync_to_async(cancel.cancel)(row)
    reply = await chat.ended(begun.reply.pk)
    assert (reply.status, reply.content) == ("complete", "All right.")
    assert "[Compressed" not in chat.llm.chats[-1].text
    assert len(chat.llm.summaries) == 1, "it is not begun again until a person says something"
    await chat.check()


async def test_a_turn_that_does_not_fit_without_it_is_refused_with_what_to_do(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 40)
    chat.llm.summary_takes(seconds=60)
    begun = await chat.send("what was port 3?")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    await sync_to_async(cancel.cancel)(await Compaction.objects.aget())
    reply = await chat.ended(begun.reply.pk)
    assert reply.status == "failed"
    assert "does not fit" in reply.error and reply.error.endswith(room.UNCOMPRESSED)
    assert not chat.llm.chats
    await assert_nothing_has_changed(chat)
    chat.llm.summary_takes(seconds=0)
    await sync_to_async(turn.retry)(chat.conversation, reply.pk)
    async with asyncio.timeout(20):
        while not await Message.objects.filter(content="All right.").aexists():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("trigger", ["auto", "manual"])
async def test_stop_ends_the_compaction_that_a_reply_waits_for_and_the_reply(
    conversation: Conversation, chat: Chat, trigger: str
) -> None:
    await sync_to_async(fill)(conversation, 40 if trigger == "auto" else 12)
    chat.llm.summary_takes(seconds=60)
    if trigger == "manual":
        await chat.start_compaction()
        await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    begun = await chat.send("what was port 3?")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    assert await sync_to_async(stop.stop)(chat.conversation)
    reply = await chat.ended(begun.reply.pk)
    assert reply.status == "stopped"
    await closed(chat.llm)
    row = await Compaction.objects.aget()
    assert (row.trigger, row.status) == (trigger, "cancelled")
    assert not chat.llm.chats
    await assert_nothing_has_changed(chat)


async def test_stop_ends_the_compaction_that_a_reply_is_about_to_wait_for(filled: Conversation, chat: Chat) -> None:
    """It comes with the first statement of a reply that is taken up, and has not begun to wait."""
    row = await thinking(chat)
    stopped: list[bool] = []

    def press(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        reply = running_replies.in_progress.get(filled.pk)
        if reply and not stopped:
            assert not reply.makes_room and reply.answer.sent is None
            stopped.append(False)  # the statements of the stop itself come here too
            stopped[0] = stop.stop(filled)
        return execute(sql, params, many, context)

    async with through(press):
        begun = await chat.send("what was port 3?")
        reply = await chat.ended(begun.reply.pk)
    assert (stopped, reply.status) == ([True], "stopped")
    assert (await Compaction.objects.aget(pk=row.pk)).status == "cancelled"
    await closed(chat.llm)
    assert not chat.llm.chats
    await assert_nothing_has_changed(chat)


async def test_stop_right_behind_the_check_of_a_reply_that_is_taken_up(filled: Conversation, chat: Chat) -> None:
    """The worker has read that nobody stops the reply, and has done nothing with it yet."""
    await thinking(chat)
    stopped: list[bool] = []

    def press(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith('SELECT "conversations_message"."stopping_at"') and not stopped:
            stopped.append(False)  # the statements of the stop itself come here too
            stopped[0] = stop.stop(filled)
        return result

    async with through(press):
        begun = await chat.send("what was port 3?")
        reply = await chat.ended(begun.reply.pk)
    assert (stopped, reply.status) == ([True], "stopped")
    await closed(chat.llm)
    assert not chat.llm.chats
    await assert_nothing_has_changed(chat)


async def test_a_stop_is_noted_again_where_the_database_was_busy(filled: Conversation, chat: Chat) -> None:
    """The reply would else stay the running one of its conversation for as long as the process lives."""
    await thinking(chat)
    stopped: list[bool] = []
    failed: list[str] = []

    def press(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if stopped == [True] and not failed and sql.startswith('UPDATE "conversations_message" SET "stopping_at"'):
            failed.append(sql)
            raise OperationalError("database is locked")
        result = execute(sql, params, many, context)
        if sql.startswith('SELECT "conversations_message"."stopping_at"') and not stopped:
            stopped.append(False)
            stopped[0] = stop.stop(filled)
        return result

    async with through(press):
        begun = await chat.send("what was port 3?")
        reply = await chat.ended(begun.reply.pk)
        await chat.idle()
    assert (stopped, len(failed), reply.status) == ([True], 1, "stopped")


async def test_stop_leaves_a_compaction_alone_that_no_reply_waits_for(filled: Conversation, chat: Chat) -> None:
    row = await thinking(chat)
    assert not await sync_to_async(stop.stop)(chat.conversation)
    assert (await Compaction.objects.aget()).is_active
    await sync_to_async(cancel.cancel)(row)


async def test_preparation_ahead_is_cancelled_and_not_begun_again_before_a_person_says_something(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.COMPRESSION_AHEAD = True
    await sync_to_async(fill)(conversation, 18, words=62)
    chat.llm.summary_takes(seconds=60)
    await chat.say("hello")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    row = await Compaction.objects.aget(trigger="ahead")
    api = await sync_to_async(Api)(await User.objects.aget())
    assert (await sync_to_async(api.client.delete)(f"/api/tasks/{row.pk}")).status_code == 200
    await closed(chat.llm)
    settings.COMPRESSION_COOLDOWN_SECONDS = 0
    await sync_to_async(room.prepare_ahead)(conversation.pk)
    assert await Compaction.objects.acount() == 1


async def test_nobody_else_can_cancel_it(filled: Conversation, chat: Chat) -> None:
    row = await thinking(chat)
    eve = await User.objects.acreate(username="eve")
    hers = await sync_to_async(Api)(eve)
    assert (await sync_to_async(hers.client.delete)(f"/api/tasks/{row.pk}")).status_code == 404
    client = Client()
    await sync_to_async(client.force_login)(eve)
    assert (await sync_to_async(client.post)(f"/c/{filled.pk}/cancel/{row.pk}")).status_code == 404
    assert (await Compaction.objects.aget()).is_active
    await sync_to_async(client.force_login)(await User.objects.aget(username="alice"))
    page = await sync_to_async(client.post)(f"/c/{filled.pk}/cancel/{row.pk}")
    assert "Cancelled: nothing has changed." in page.content.decode()
    again = await sync_to_async(client.post)(f"/c/{filled.pk}/cancel/{row.pk}")
    assert again.status_code == 200 and "Cancelled" in again.content.decode()
