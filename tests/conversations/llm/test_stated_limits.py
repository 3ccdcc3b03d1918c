"""A refusal that names the server's limit lowers the window: the next requests fit, also after a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.tokens import count_tokens
from compression.models import Compaction
from conversations.llm.providers.fault_mapping import is_too_long
from conversations.llm.providers.stated_limits import limit_stated_in
from conversations.llm.windows.window_words import lowered
from conversations.models import ModelProfile
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

GITHUB = "Request body too large for gpt-4o model. Max size: 8000 tokens."
GROQ = (
    "Request too large for model `llama` in organization `org` service tier `on_demand` on tokens per minute (TPM): "
    "Limit 6000, Requested 12000, please reduce your message size and try again."
)
LIMITS = [
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens.", 8192),
    ("prompt is too long: 212,345 tokens > 200,000 maximum", 200_000),
    ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
    ("Requested tokens (5000) exceed context window of 4096", 4096),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096),
    ("Token limit exceeded: 12000 > 8192", 8192),
    ("Too many tokens: 12000, max 8192", 8192),
    ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272_000),
    (
        "Trying to keep the first 5000 tokens. However, the model is loaded with context length of only 4096 tokens",
        4096,
    ),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32_768),
    ("Decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
    ("the input token count is 1200000 but model only supports up to 1048576.", 1_048_576),
    ("Range of input length should be [1, 30720]", 30_720),
    ("input length and `max_tokens` exceed context limit: 199900 + 100000 > 200000", 200_000),
    ("prompt token count of 70000 exceeds the limit of 64000", 64_000),
    ("total number of tokens in the prompt cannot exceed 4081 - received 5000.", 4081),
    (
        "maximum context length is 131072 tokens. However, you requested about 150000 tokens (140000 of text input",
        131_072,
    ),
    (GITHUB, 8000),
    (GROQ, 6000),
]


@pytest.mark.parametrize(("said", "limit"), LIMITS)
def test_the_limit_is_read_from_the_refusal(said: str, limit: int) -> None:
    assert is_too_long({"error": {"message": said}}, 400)
    assert limit_stated_in(said) == limit


@pytest.mark.parametrize(
    "said",
    [
        "Your input exceeds the context window of this model.",
        "invalid params, context window exceeds limit (2013)",
        "Expected a string with maximum length 1048576, but got a string with length 1200000: string too long.",
        "Prompt exceeds max length",
    ],
)
def test_other_numbers_are_no_limit(said: str) -> None:
    assert limit_stated_in(said) is None


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("source", ["hand", "name"])
async def test_the_next_requests_keep_to_the_limit(conversation: Any, chat: Chat, provider: str, source: str) -> None:
    await ModelProfile.objects.aupdate(window=131_072, window_source=source, provider=provider)
    await sync_to_async(fill)(conversation, 60)
    await chat.refresh()
    chat.llm.enqueue(status=413, message="Request body too large. Max size: 5000 tokens.")
    assert (await chat.say("And now?")).status == "complete"
    profile = await ModelProfile.objects.aget()
    assert (profile.window, profile.window_source, profile.window_replaced) == (5_000, "asked", 131_072)
    assert "takes 5,000 tokens, not 131,072: it refused a longer request." in lowered(profile)
    for number in range(12):
        assert (await chat.say(f"More {number}: " + "pad " * 400)).status == "complete"
    tokens = [count_tokens(json.dumps(request.body["messages"])) for request in chat.llm.chats]
    assert max(tokens[1:]) < 5_000 < tokens[0]
    assert await Compaction.objects.filter(status="succeeded").acount() > 1


async def test_a_request_larger_than_a_minute_s_tokens_is_compacted_not_waited_for(
    conversation: Any, chat: Chat
) -> None:
    await ModelProfile.objects.aupdate(window=131_072)
    await sync_to_async(fill)(conversation, 60)
    await chat.refresh()
    chat.llm.enqueue(status=429, message=GROQ)
    assert (await chat.say("And now?")).status == "complete"
    assert (await ModelProfile.objects.aget()).window == 6_000
    chat.llm.enqueue(status=429, message="Rate limit reached: Limit 6000, Used 5000, Requested 2000.", retry_after="0")
    assert (await chat.say("And now?")).status == "complete"
    assert await Compaction.objects.filter(status="succeeded").acount() == 1


async def test_a_limit_in_the_person_s_own_words_or_far_off_is_not_taken(conversation: Any, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(window=131_072)
    await sync_to_async(fill)(conversation, 60)
    await chat.refresh()
    words = "The maximum context length is 2048 tokens."
    for said in (f"prompt is too long: {words}", "prompt is too long: at most 1500 tokens"):
        chat.llm.enqueue(status=400, message=said)
        assert (await chat.say(words)).status == "complete"
    assert (await ModelProfile.objects.aget()).window == 131_072
