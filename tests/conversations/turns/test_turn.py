from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from conversations.errors import Conflict, Invalid, TooLarge
from conversations.models import Conversation, Message, ModelProfile
from conversations.runtime.events import hub
from conversations.turns import running_replies, stop, turn
from tests.conversations.chat import Chat, fill


async def test_a_message_is_answered_and_both_are_stored(chat: Chat) -> None:
    chat.llm.enqueue("Port 5433 it is.")
    reply = await chat.say("which port?")
    assert (reply.status, reply.content, reply.model) == ("complete", "Port 5433 it is.", "scripted")
    assert reply.prompt_tokens is not None
    assert reply.token_count > 4
    question = await Message.objects.aget(conversation=chat.conversation, role="user")
    assert question.content == "which port?"
    assert question.created_at < reply.created_at


async def test_the_request_holds_the_system_prompt_and_every_earlier_message_in_order(chat: Chat) -> None:
    chat.llm.enqueue("first answer")
    await chat.say("first question")
    await chat.say("second question")
    roles = [(message["role"], message["content"]) for message in chat.llm.last_request.messages]
    assert roles[0][0] == "system"
    assert roles[1:] == [("user", "first question"), ("assistant", "first answer"), ("user", "second question")]


async def test_the_first_message_gives_the_conversation_its_title(chat: Chat) -> None:
    await chat.say("Move alpha\noff node-3 " + "x" * 80)
    await chat.refresh()
    assert chat.conversation.title.startswith("Move alpha off node-3")
    assert len(chat.conversation.title) == 60


async def test_deltas_reach_a_listener_in_order_and_before_the_end(chat: Chat) -> None:
    chat.llm.enqueue("one two three four", drip=0.01)
    with hub.listen(chat.conversation.pk) as listener:
        await chat.send("count")
        seen = []
        async for event in listener:
            seen.append(event)
            if event.type == "message.done":
                break
    kinds = [event.type for event in seen if event.type.startswith("message.")]
    assert kinds[:2] == ["message.created", "message.created"]
    assert kinds[2] == "message.delta"
    text = "".join(event.data["text"] for event in seen if event.type == "message.delta")
    assert text == "one two three four" == seen[-1].data["message"]["content"]


async def test_a_slow_listener_is_told_to_fetch_and_costs_no_memory(chat: Chat) -> None:
    from conversations.runtime.subscription import MAX_QUEUED_EVENTS, Event

    with hub.listen(chat.conversation.pk) as listener:
        for number in range(MAX_QUEUED_EVENTS + 10):
            listener.put(Event("usage.updated", {"number": number}))
        assert listener.queue.qsize() <= MAX_QUEUED_EVENTS
        assert (await anext(aiter(listener))).type == "resync"


async def test_stop_keeps_the_text_that_was_written(chat: Chat) -> None:
    chat.llm.enqueue("word " * 500, drip=0.02)
    begun = await chat.send("tell me everything")
    while not running_replies.text_so_far(begun.reply):
        await asyncio.sleep(0.01)
    assert stop.stop(chat.conversation)
    reply = await chat.ended(begun.reply.pk)
    assert reply.status == "stopped"
    assert reply.content.startswith("word")
    chat.llm.enqueue("and on")
    await chat.say("go on")
    assert reply.content in [message["content"] for message in chat.llm.last_request.messages]


async def test_a_second_message_while_a_reply_runs_is_refused_and_not_stored(chat: Chat) -> None:
    chat.llm.enqueue("slow", delay=0.3)
    begun = await chat.send("first")
    with pytest.raises(Conflict, match="still being written"):
        await chat.send("second")
    await chat.ended(begun.reply.pk)
    assert await Message.objects.filter(conversation=chat.conversation).acount() == 2


async def test_a_replayed_client_id_gives_the_same_message_and_asks_no_model(chat: Chat) -> None:
    first = await chat.send("once", client_id="abc")
    await chat.ended(first.reply.pk)
    again = await chat.send("once", client_id="abc")
    assert again.replayed
    assert (again.question.pk, again.reply.pk) == (first.question.pk, first.reply.pk)
    assert len(chat.llm.chats) == 1
    with pytest.raises(Conflict) as refused:
        await chat.send("twice", client_id="abc")
    assert refused.value.code == "client_id_reused"


@pytest.mark.parametrize("content", ["", "  \n ", "a\0b", "half \ud800 character", "x" * 200_001, None, 7])
async def test_text_that_cannot_be_stored_is_refused_by_name(chat: Chat, content: object) -> None:
    with pytest.raises(Invalid, match="content"):
        await chat.send(content)  # type: ignore[arg-type]
    assert not await Message.objects.aexists()


async def test_a_message_that_fits_no_request_is_refused_with_the_figures(chat: Chat) -> None:
    with pytest.raises(TooLarge) as refused:
        await chat.send("word " * 4_000)
    assert refused.value.status == 413
    assert refused.value.detail["message_tokens"] > refused.value.detail["budget"]
    assert str(refused.value.detail["window"] // 1000) in refused.value.message
    assert not await Message.objects.aexists()


async def test_a_provider_fault_fails_the_reply_keeps_the_question_and_can_be_retried(chat: Chat) -> None:
    chat.llm.enqueue(status=401)
    reply = await chat.say("hello?")
    assert reply.status == "failed"
    assert "key" in reply.error
    assert "sk-test" not in reply.error
    chat.llm.enqueue("now it works")
    again = await sync_to_async(turn.retry)(chat.conversation, reply.pk)
    assert (await chat.ended(again.pk)).content == "now it works"
    assert (await Message.objects.aget(pk=reply.pk)).replaced_by_id == again.pk
    assert chat.llm.last_request.messages[-1]["content"] == "hello?"


async def test_only_the_last_failed_reply_can_be_retried(chat: Chat) -> None:
    whole = await chat.say("fine")
    with pytest.raises(Conflict):
        await sync_to_async(turn.retry)(chat.conversation, whole.pk)


async def test_a_failed_reply_is_no_part_of_the_next_request(chat: Chat) -> None:
    chat.llm.enqueue("half of a thought that breaks", fault="half")
    broken = await chat.say("first")
    assert broken.status == "failed"
    await chat.say("second")
    assert [message["content"] for message in chat.llm.last_request.messages[1:]] == ["first", "second"]


async def test_without_a_model_the_person_is_told_how_to_set_one(chat: Chat) -> None:
    await ModelProfile.objects.all().aupdate(enabled=False)
    with pytest.raises(Conflict, match="OPENAI_API_KEY"):
        await chat.send("anyone?")
    assert not await Message.objects.aexists()


async def test_times_strictly_increase_even_when_the_clock_goes_back(chat: Chat) -> None:
    await chat.say("first")
    future = (await Message.objects.filter(conversation=chat.conversation).order_by("-created_at").afirst()).created_at
    await Message.objects.filter(role="assistant").aupdate(created_at=future.replace(year=future.year + 1))
    await chat.say("second")
    times = [row.created_at async for row in Message.objects.order_by("created_at")]
    assert times == sorted(set(times))
    last = [row.content async for row in Message.objects.order_by("created_at")][-2]
    assert last == "second"


async def test_the_correction_is_learned_from_what_the_provider_reports(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(token_correction=1.25)
    for _ in range(4):
        await chat.say("words " * 50)
    # The scripted server counts as we do: from 1.25 the correction falls towards 1.
    assert 1.05 < (await ModelProfile.objects.aget()).token_correction < 1.15


async def test_a_reply_ends_quietly_when_its_conversation_is_deleted(chat: Chat) -> None:
    chat.llm.enqueue("too late", delay=0.2)
    await chat.send("bye")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.chats))
    await Conversation.objects.all().adelete()
    await chat.idle()
    assert not await Message.objects.aexists()


async def test_a_stopped_reply_can_be_tried_again_and_stays_readable(chat: Chat) -> None:
    chat.llm.enqueue("word " * 500, drip=0.02)
    begun = await chat.send("tell me everything")
    while not running_replies.text_so_far(begun.reply):
        await asyncio.sleep(0.01)
    stop.stop(chat.conversation)
    stopped = await chat.ended(begun.reply.pk)
    again = await sync_to_async(turn.retry)(chat.conversation, stopped.pk)
    assert (await chat.ended(again.pk)).status == "complete"
    assert stopped.content not in [message["content"] for message in chat.llm.last_request.messages]
    assert (await Message.objects.aget(pk=stopped.pk)).content == stopped.content


async def test_a_connection_that_was_lost_does_not_cost_the_lease(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tasks share it, and nothing but heartbeats may be asked of it for long."""
    if connection.vendor == "sqlite":
        pytest.skip("there is no connection to a file that could be lost")
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.4)
    chat.llm.enqueue("one two three four five six seven eight", drip=0.2)
    begun = await chat.send("hello")
    while not running_replies.text_so_far(begun.reply):
        await asyncio.sleep(0.01)
    await sync_to_async(lose_connection)()
    lost_at = timezone.now()
    row = begun.reply
    async with asyncio.timeout(5):
        while not row.lease_expires_at or row.lease_expires_at < lost_at + timedelta(seconds=settings.LEASE_SECONDS):
            await asyncio.sleep(0.01)
            with contextlib.suppress(OperationalError):  # until a heartbeat has made a new connection
                row = await Message.objects.aget(pk=begun.reply.pk)
    assert row.lease_expires_at and row.lease_expires_at > timezone.now()
    assert (await chat.ended(begun.reply.pk)).content == "one two three four five six seven eight"


def lose_connection() -> None:
    assert connection.connection
    connection.connection.close()


async def test_a_conversation_that_another_process_deletes_while_it_is_compressed_is_no_error(
    conversation: Conversation, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    await sync_to_async(fill)(conversation, 40, words=62)
    chat.llm.summary_takes(seconds=0.5)
    await chat.send("hello")
    async with asyncio.timeout(10):
        while not chat.llm.summaries:
            await asyncio.sleep(0.01)
    await sync_to_async(conversation.delete)()
    async with asyncio.timeout(10):
        while running_replies.in_progress:
            await asyncio.sleep(0.05)
    assert not [record for record in caplog.records if record.exc_info]
