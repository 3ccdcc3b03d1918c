"""A chat whose model calls tools: rounds of one turn, from the question to the answer."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings

from conversations.agents.reply_scope import MAX_REPLY_REQUESTS
from conversations.context import transcript
from conversations.errors import Conflict
from conversations.messages import tool_calls
from conversations.models import Conversation, ModelProfile, ToolCall
from conversations.runtime.events import hub
from conversations.turns import turn
from tests.agents.conftest import ToolChat
from tests.conversations.chat import fill

pytestmark = pytest.mark.once
TIME = ("current_time", '{"timezone": "UTC"}')


def roles(body: dict) -> list[str]:
    return [message["role"] for message in body["messages"]]


async def test_a_call_is_carried_out_and_its_result_sent_with_the_next_request(chat: ToolChat) -> None:
    chat.llm.enqueue("Let me see.", calls=[TIME])
    chat.llm.enqueue("It is late.")
    first, last = await chat.asks("How late is it?")
    assert (first.content, first.status, last.content, last.status) == (
        "Let me see.",
        "complete",
        "It is late.",
        "complete",
    )
    (call,) = await chat.calls()
    assert (call.status, call.message_id, call.error) == ("done", first.pk, "")
    assert str(datetime.now().year) in call.result
    one, two = (request.body for request in chat.llm.chats)
    assert (roles(one), roles(two)) == (["system", "user"], ["system", "user", "assistant", "tool"])
    assert two["messages"][-1] == {"role": "tool", "tool_call_id": call.call_id, "content": call.result}
    assert [tool["function"]["name"] for tool in one["tools"]] == ["calculate", "current_time"]


async def test_what_a_message_costs_is_counted_with_its_results(chat: ToolChat) -> None:
    chat.llm.enqueue("Let me see.", calls=[TIME, TIME])
    first, _ = await chat.asks("How late is it?")
    loaded = await asyncio.to_thread(transcript.load, chat.conversation.pk)
    (found,) = (one for one in loaded.turns if one.id == str(first.pk))
    assert found.tokens == transcript.message_tokens("Let me see.", found.tools)
    assert all(use.result for use in found.tools)


async def test_calls_of_one_message_are_carried_out_in_any_order_and_sent_in_theirs(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[TIME, ("nonsense", "{}"), TIME])
    await chat.asks("How late is it?")
    calls = await chat.calls()
    assert [call.status for call in calls] == ["done", "failed", "done"]
    sent = [message for message in chat.llm.last_request.messages if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in sent] == [call.call_id for call in calls]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("no_such_tool", "{}", "There is no tool called 'no_such_tool'"),
        ("current_time", '{"timezone": ', "not JSON"),
        ("current_time", "[1]", "no JSON object"),
        ("current_time", '{"timezone": 7}', "timezone: 7 is not of type 'string'"),
        ("current_time", '{"zone": "UTC"}', "'zone' was unexpected"),
        ("delegate_task", '{"task": "work"}', "There is no tool called 'delegate_task'"),
    ],
)
async def test_a_call_that_cannot_be_is_told_to_the_model_which_goes_on(
    chat: ToolChat, name: str, arguments: str, told: str
) -> None:
    chat.llm.enqueue("", calls=[(name, arguments)])
    chat.llm.enqueue("I was wrong.")
    *_, last = await chat.asks("How late is it?")
    (call,) = await chat.calls()
    assert call.status == "failed" and told in call.error
    assert chat.llm.last_request.messages[-1]["content"] == call.result == f"{tool_calls.ERROR}{call.error}"
    assert last.content == "I was wrong."


async def test_a_model_that_calls_forever_has_to_answer_in_the_end(chat: ToolChat) -> None:
    chat.llm.enqueue("", times=MAX_REPLY_REQUESTS - 1, calls=[TIME])
    chat.llm.enqueue("That is it.")
    *rounds, last = await chat.asks("How late is it?")
    assert (len(rounds), last.content) == (MAX_REPLY_REQUESTS - 1, "That is it.")
    choices = [request.body.get("tool_choice") for request in chat.llm.chats]
    assert choices == [None] * (MAX_REPLY_REQUESTS - 1) + ["none"]


async def test_a_model_that_cannot_call_tools_and_a_chat_without_them_are_asked_as_ever(
    chat: ToolChat, profile: ModelProfile
) -> None:
    await Conversation.objects.aupdate(uses_tools=False)
    await chat.asks("Hello")
    await Conversation.objects.aupdate(uses_tools=True)
    await ModelProfile.objects.aupdate(calls_tools=False)
    await chat.asks("Hello again")
    assert not any("tools" in request.body or "tool_choice" in request.body for request in chat.llm.chats)


async def test_the_history_is_offered_once_a_part_of_it_is_compressed(chat: ToolChat) -> None:
    await sync_to_async(fill)(chat.conversation, 12)
    await chat.asks("Which port?")
    assert (await chat.compact()).status == "succeeded"
    await chat.asks("And now?")
    before, after = ([tool["function"]["name"] for tool in chat.llm.chats[at].body["tools"]] for at in (-2, -1))
    assert set(after) - set(before) == {"search_history", "read_history"}


async def test_a_long_result_is_stored_whole_and_sent_cut(chat: ToolChat, settings: LazySettings) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 10
    chat.llm.enqueue("", calls=[TIME])
    await chat.asks("How late is it?")
    (call,) = await chat.calls()
    assert len(call.result or "") > 10
    assert chat.llm.last_request.messages[-1]["content"] == (call.result or "")[:10] + transcript.TRUNCATED


async def test_the_question_is_sent_word_for_word_however_long_the_loop(chat: ToolChat, profile: ModelProfile) -> None:
    await ModelProfile.objects.aupdate(window=1_500, max_reply_tokens=100)
    chat.llm.enqueue("", times=12, calls=[("calculate", json.dumps({"expression": f"{10**60} + 1"}))] * 2)
    await chat.asks("Is the port 5433, and not 5432?")
    last = chat.llm.chats[-1]
    assert [m["content"] for m in last.messages if m["role"] == "user"] == ["Is the port 5433, and not 5432?"]
    assert "[Compressed Message Summary]" in last.text
    assert all(request.tokens < 1_400 for request in chat.llm.chats)


async def test_calls_are_told_on_the_page_as_they_begin_and_end(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[TIME])
    with hub.listen(chat.conversation.pk) as listener:
        await chat.asks("How late is it?")
        heard = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    told = [(event.type, event.data["call"]["status"]) for event in heard if event.type == "tool.updated"]
    assert told == [("tool.updated", "running"), ("tool.updated", "done")]
    assert [event.type for event in heard if event.type.startswith("message.") and event.type != "message.delta"] == [
        "message.created", "message.created", "message.done", "message.created", "message.done",
    ]  # fmt: skip


async def test_a_reply_is_refused_while_tools_are_called(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[TIME])
    chat.llm.enqueue("Done.", delay=0.3)
    begun = await chat.send("How late is it?")
    async with asyncio.timeout(5):
        while not await ToolCall.objects.filter(status="done").aexists():
            await asyncio.sleep(0.01)
    with pytest.raises(Conflict, match="still being written"):
        await chat.send("Another")
    assert (await chat.turn_ended(begun))[-1].content == "Done."


async def test_an_answer_of_nothing_fails_and_can_be_tried_again_with_what_the_tools_gave(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[TIME])
    chat.llm.enqueue(status=401)
    *_, failed = await chat.asks("How late is it?")
    assert failed.status == "failed"
    reply = await sync_to_async(turn.retry)(chat.conversation, failed.pk)
    assert (await chat.ended(reply.pk)).content == "All right."
    assert roles(chat.llm.last_request.body) == ["system", "user", "assistant", "tool"]
    assert await ToolCall.objects.acount() == 1
