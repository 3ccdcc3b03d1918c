"""A conversation with one of Anthropic's models, from the message to the compaction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations.llm.providers.tool_naming import fitting_name
from conversations.models import Message, ModelProfile, ToolCall
from tests.conversations.chat import START, Chat, fill
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


@pytest.fixture
def profile(transactional_db: None, llm: LlmServer) -> Any:
    return ModelProfile.objects.create(
        name="Claude", provider="anthropic", model_id="claude-haiku-4-5", base_url=llm.url, api_key="sk-ant-test",
        window=4_000, token_correction=1.0, price_input=1, price_cached="0.1", price_output=5,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def only_anthropic(llm: LlmServer) -> Any:
    """Nothing of these conversations is asked by another API."""
    yield
    assert llm.received and all(request.path == "/v1/messages" for request in llm.received)


async def test_a_message_is_answered_and_its_cost_is_recorded(chat: Chat) -> None:
    usage = {"input_tokens": 30, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10, "output_tokens": 7}
    chat.llm.enqueue("Port 5433 it is.", usage=usage)
    reply = await chat.say("which port?")
    assert (reply.status, reply.content, reply.model) == ("complete", "Port 5433 it is.", "Claude")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (100, 7, 60)
    asked = chat.llm.last_request.body["max_tokens"]
    assert reply.request["max_tokens"] == asked
    noted = reply.request["tokens"]
    assert asked == 4_000 - sum(noted.values()), "all that the window leaves"


async def test_every_message_is_in_the_next_request(chat: Chat) -> None:
    await chat.say("first question")
    await chat.say("second question")
    await chat.check()
    turns = [(turn["role"], turn["content"][0]["text"]) for turn in chat.llm.last_request.body["messages"]]
    assert turns == [("user", "first question"), ("assistant", "All right."), ("user", "second question")]


async def test_a_full_conversation_is_compressed_and_goes_on_with_its_summary(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 40)
    chat.llm.enqueue_summary(times=9, usage={"input_tokens": 2_000, "output_tokens": 100})
    reply = await chat.say("go on")
    await chat.check()
    assert reply.status == "complete" and chat.conversation.is_compressed
    system = chat.llm.last_request.body["system"]
    assert system[1]["text"] == chat.conversation.compressed_context
    assert [block.get("cache_control") for block in system] == [{"type": "ephemeral"}] * 2
    row = await chat.conversation.compactions.aget()
    assert (row.summariser, row.status) == ("Claude", "succeeded")
    passages = len(chat.llm.summaries)
    assert (row.prompt_tokens, row.completion_tokens) == (2_000 * passages, 100 * passages)
    assert row.cost_usd == Decimal("0.0025") * passages


async def test_each_turn_begins_with_what_the_turn_before_asked_the_provider_to_keep(chat: Chat) -> None:
    """Recalled passages change from turn to turn: what stands before them is kept, and grows with the conversation."""
    await sync_to_async(fill)(chat.conversation, 40)
    kept: list[list[Any]] = []
    for question in ("go on", "what about word3?", "and word7?", "and word1?"):
        await chat.say(question)
        body = chat.llm.last_request.body
        blocks = [(turn["role"], block) for turn in body["messages"] for block in turn["content"]]
        plain = [(role, {key: block[key] for key in block if key != "cache_control"}) for role, block in blocks]
        marked = [at for at, (_, block) in enumerate(blocks) if "cache_control" in block]
        assert len(marked) in (1, 2), "one up to what later turns have too, one for the next round of tools"
        if kept:
            assert plain[: len(kept[-1])] == kept[-1]
            assert len(plain[: marked[0] + 1]) > len(kept[-1])
        kept.append(plain[: marked[0] + 1])
    assert any("[Recalled Passages]" in block["text"] for _, block in plain if "text" in block)
    assert not any("[Recalled Passages]" in block["text"] for _, block in kept[-1] if "text" in block)


@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_a_summary_in_another_role_is_taken_as_well(chat: Chat, settings: Any, role: str) -> None:
    settings.COMPRESSION_SUMMARY_ROLE = role
    await sync_to_async(fill)(chat.conversation, 40)
    assert (await chat.say("go on")).status == "complete"
    await chat.check()
    summary = chat.conversation.compressed_context
    turns = chat.llm.last_request.body["messages"]
    assert [turn["role"] for turn in turns if summary in [block["text"] for block in turn["content"]]] == [role]


async def test_an_overloaded_summariser_is_asked_three_times_and_the_turn_goes_on(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 40)
    chat.llm.enqueue_summary(times=9, status=529, retry_after="0")
    reply = await chat.say("go on")
    assert reply.status == "complete"
    assert len(chat.llm.summaries) == 3
    row = await chat.conversation.compactions.aget()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    assert "overloaded" in row.steps[0]["failed"]
    await chat.check()


async def test_a_prompt_that_the_provider_finds_too_long_is_compressed_and_sent_once_more(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20, words=25)
    chat.llm.enqueue(status=400, message="prompt is too long: 210000 tokens > 200000 maximum")
    chat.llm.enqueue("Here I am.")
    reply = await chat.say("go on")
    assert (reply.status, reply.content) == ("complete", "Here I am.")
    assert len(chat.llm.chats) == 2
    await chat.check()


async def test_a_refused_key_is_told_and_the_message_is_kept(chat: Chat) -> None:
    chat.llm.enqueue(status=401, message="invalid x-api-key sk-ant-test")
    reply = await chat.say("hello")
    assert reply.status == "failed" and "refused the API key" in reply.error and "sk-ant" not in reply.error


async def test_calls_of_tools_go_with_their_results(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 2)
    answer = await Message.objects.aget(conversation=chat.conversation, role="assistant")
    await ToolCall.objects.acreate(
        message=answer, call_id="toolu 1", name="read.file", arguments='{"path": "a.py"}', result="print(1)",
        created_at=START,
    )  # fmt: skip
    assert (await chat.say("and now?")).status == "complete"
    _, called, answered = chat.llm.last_request.body["messages"]
    assert called["content"][1] == {
        "type": "tool_use", "id": "call_1", "name": fitting_name("read.file"), "input": {"path": "a.py"},
    }  # fmt: skip
    assert answered["content"][0] == {"type": "tool_result", "tool_use_id": "call_1", "content": "print(1)"}
