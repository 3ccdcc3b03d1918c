"""Habits of real providers that are no faults: other words for an overflow, full slots, thoughts with a closing tag."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async

from compression.models import Compaction
from conversations.llm.bounded_answers import ObjectAsEvent, Unacceptable
from conversations.llm.errors import EmptyReply
from conversations.llm.port import Reply, ReportedTokens
from conversations.llm.providers.fault_mapping import is_too_long
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import PROBE_TOKENS
from conversations.llm.request import Prompt
from conversations.llm.retries import Attempts
from conversations.llm.thinking.efforts import room_for
from conversations.models import ModelProfile
from tests.conversations.chat import Chat, fill
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

OVERFLOWS = [
    "The input token count (12000) exceeds the maximum number of tokens allowed (8192).",
    "This model's maximum prompt length is 8192 but the request contains 12000 tokens.",
    "Prompt exceeds max length",
    "Range of input length should be [1, 8192]",
    "Input is too long for requested model.",
    "prompt token count of 12000 exceeds the limit of 8192",
    "Your request exceeded model token limit: 8192",
    "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 12000 `inputs` tokens",
    "The prompt (12000 tokens) is larger than the maximum sequence length",
    "Please reduce the length of the messages or completion.",
    "input length and `max_tokens` exceed context limit: 199900 + 100000 > 200000",
    "max_tokens must be at least 1, got -808",
    "max_tokens (-812) must be positive",
    "Input validation error: `inputs` must have less than 8192 tokens. Given: 12000",
    "Total tokens of image and text exceed max message tokens",
    "litellm.ContextWindowExceededError: it does not fit",
    "This request would exceed the model's 8192 token capacity",
    "输入长度超过模型最大上下文长度",
    "Prompt 超长",
]
OTHERS = [
    "Rate limit reached: 30000 tokens per minute",
    "max_tokens is too large: 65535. This model supports at most 16384 completion tokens",
    "Too many images in the prompt: at most 20",
    "temperature: must be at most 2",
    "Invalid value for 'model'",
    "metadata value too long: maximum 512 characters",
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    "max_tokens must be at least 1",
    "You exceeded your current quota, please check your plan",
]


@pytest.mark.parametrize("said", OVERFLOWS)
def test_an_overflow_is_known_in_any_words(said: str) -> None:
    assert is_too_long({"error": {"message": said, "code": 400}}, 400)


@pytest.mark.parametrize(
    "said",
    [
        "No endpoints found matching your data policy (Free model training).",
        "No endpoints found that can handle the requested parameters.",
        "No allowed providers are available for the selected model.",
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
        "This model is only supported in v1/responses and not in v1/chat/completions.",
    ],
)
async def test_a_404_about_something_else_than_the_model_is_no_unknown_model(chat: Chat, said: str) -> None:
    chat.llm.enqueue(status=404, message=said)
    reply = await chat.say("Which port?")
    assert "refused this request (404" in reply.error, reply.error
    assert "does not know" not in reply.error


@pytest.mark.parametrize("said", OTHERS)
def test_other_limits_are_no_overflow(said: str) -> None:
    assert not is_too_long({"error": {"message": said}}, 400)


def test_words_about_tokens_with_another_status_are_no_overflow() -> None:
    assert not is_too_long({"error": {"message": OVERFLOWS[0]}}, 429)


async def test_an_overflow_in_other_words_is_compacted_and_answered(conversation: Any, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 18)
    await chat.refresh()
    chat.llm.enqueue(status=400, message=OVERFLOWS[0])
    reply = await chat.say("And now?")
    assert reply.status == "complete", reply.error
    assert await Compaction.objects.filter(status="succeeded").acount() == 1


async def test_full_slots_are_waited_for_and_nothing_is_compacted(conversation: Any, chat: Chat) -> None:
    chat.llm.enqueue(status=500, message="Context size has been exceeded.", times=2)
    began = asyncio.get_running_loop().time()
    reply = await chat.say("Short?")
    assert reply.status == "complete", reply.error
    assert asyncio.get_running_loop().time() - began >= 1
    assert not await Compaction.objects.aexists()


async def test_a_reply_without_a_finish_reason_is_asked_for_once(conversation: Any, chat: Chat) -> None:
    chat.llm.enqueue("It listens on 5433.", fault="no_reason")
    reply = await chat.say("Which port?")
    assert (reply.status, reply.content, reply.error) == ("complete", "It listens on 5433.", "")
    assert len(chat.llm.chats) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_events_without_a_blank_line_between_them_are_read(chat: Chat, provider: str) -> None:
    await ModelProfile.objects.aupdate(provider=provider)
    chat.llm.enqueue("It listens on 5433.", fault="no_blanks")
    reply = await chat.say("Which port?")
    assert (reply.status, reply.content, reply.error) == ("complete", "It listens on 5433.", "")
    assert len(chat.llm.chats) == 1


async def test_a_reply_that_comes_as_one_object_is_shown(conversation: Any, chat: Chat) -> None:
    chat.llm.enqueue("It listens on 5433.", thoughts="Hm.", fault="other_form")
    reply = await chat.say("Which port?")
    assert (reply.status, reply.content, reply.thoughts) == ("complete", "It listens on 5433.", "Hm.")
    assert len(chat.llm.chats) == 1


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


@pytest.mark.parametrize(
    ("pieces", "read"),
    [
        ((b"\n\n", b" ", b'{"a"', b": 1}\n"), b'\n\n data: {"a": 1}\n\n'),
        ((b"\xef\xbb\xbf{", b"}"), b"data: {}\n\n"),
        ((b": ping\n\n", b"data: {}\n\n"), b": ping\n\ndata: {}\n\n\n\n"),
        ((b'{"a": ',), b'{"a": '),
        ((b"\n",), b"\n\n\n"),
    ],
)
async def test_one_object_in_place_of_a_stream_is_one_event(pieces: tuple[bytes, ...], read: bytes) -> None:
    assert b"".join([piece async for piece in ObjectAsEvent(Pieces(*pieces))]) == read


async def test_an_object_in_place_of_a_stream_has_an_end() -> None:
    with pytest.raises(Unacceptable, match="does not end"):
        async for _ in ObjectAsEvent(Pieces(b"{", *[b" " * 1_000_000] * 6)):
            pass


async def test_an_error_that_comes_as_one_object_with_200_is_explained(conversation: Any, chat: Chat) -> None:
    fault = {"error": {"message": "The model is being loaded.", "code": 503}}
    chat.llm.enqueue(facts=fault, times=5)
    reply = await chat.say("Which port?")
    assert (reply.status, reply.provider_words) == ("failed", "The model is being loaded.")


async def test_a_content_in_parts_is_text_and_thoughts(conversation: Any, chat: Chat) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    deltas: list[Any] = [[thought], [{"type": "text", "text": "It is "}], "5433."]
    choices = [{"index": 0, "delta": {"content": content}} for content in deltas]
    events = [{"choices": [choice]} for choice in (*choices, {"index": 0, "delta": {}, "finish_reason": "stop"})]
    chat.llm.enqueue(events=events)
    reply = await chat.say("Which port?")
    assert (reply.content, reply.thoughts) == ("It is 5433.", "Hm.")


async def test_thoughts_that_only_end_are_thoughts(conversation: Any, chat: Chat) -> None:
    chat.llm.enqueue("Eight times seven is asked.\n</think>\n\n56.")
    reply = await chat.say("Eight times seven?")
    assert reply.content == "56." and "is asked" in reply.thoughts
    await chat.say("And nine?")
    assert not any("is asked" in str(message) for message in chat.llm.chats[-1].body["messages"])


def short_text(llm: LlmServer, *, max_tokens: int = 100, **how: Any) -> Reply:
    model = OpenAICompatible(name="m", model="m", base_url=llm.url, api_key="sk-x", timeout=5, **how)
    prompt = Prompt(({"role": "user", "content": "Sum it up."},))
    return asyncio.run(model.complete(prompt, max_tokens=max_tokens, attempts=Attempts(1)))


def limits(llm: LlmServer) -> list[int]:
    return [request.body.get("max_tokens") or request.body["max_completion_tokens"] for request in llm.chats]


SPENT = {"prompt_tokens": 70, "completion_tokens": 100}


@pytest.mark.parametrize(
    "first",
    [
        {"text": "", "thoughts": "Hm."},
        {"text": "Hel", "thoughts": "Hm."},
        {"text": ""},
        {"text": "Hel", "usage": SPENT | {"completion_tokens_details": {"reasoning_tokens": 98}}},
    ],
)
@pytest.mark.parametrize("effort", ["", "none"])
def test_a_model_that_thinks_unasked_gets_room_for_it_in_summaries_and_titles(
    first: dict[str, Any], effort: str
) -> None:
    with LlmServer() as llm:
        llm.enqueue(**{"finish_reason": "length", "usage": SPENT} | first)
        llm.enqueue("Hello.", usage=SPENT, thoughts="Hm.")
        reply = short_text(llm, effort=effort)
        assert (reply.text, reply.spent) == ("Hello.", ReportedTokens(140, 200, thought=reply.spent.thought))
        assert short_text(llm, effort=effort).text
        assert limits(llm) == [100, 100 + room_for("low"), 100 + room_for("low")], "known from then on"


def test_a_probe_and_a_model_with_an_effort_are_asked_once() -> None:
    with LlmServer() as llm:
        for how in ({"max_tokens": PROBE_TOKENS}, {"effort": "low"}):
            llm.enqueue("", thoughts="Hm.", finish_reason="length", usage=SPENT)
            with pytest.raises(EmptyReply) as caught:
                short_text(llm, **how)
            assert caught.value.spent == ReportedTokens(70, 100)
        assert len(llm.chats) == 2


def test_a_reply_that_was_cut_off_without_thoughts_is_not_asked_for_again() -> None:
    with LlmServer() as llm:
        llm.enqueue("Hel", finish_reason="length")
        assert short_text(llm).finish_reason == "length"
        assert len(llm.chats) == 1
