"""How long replies are asked to be: as long as a model can write, within what its window leaves, and as servers say."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from conversations.llm import errors
from conversations.llm.profiles import connect, reply_limit
from conversations.llm.providers import reply_lengths
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.anthropic_thinking import THINKING_TOKENS
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.reply_lengths import NamedLimit
from conversations.models import ModelProfile
from tests.faults.providers import KEY, Naps, completed, streamed
from tests.llm_server import LlmServer


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    """Its import takes longer than a test may."""
    import_module("anthropic")


def claude(**columns: Any) -> ModelProfile:
    fields = {"provider": "anthropic", "model_id": "claude-sonnet-4-5", "window": 200_000, "token_correction": 1.0}
    return ModelProfile(name="Writer", api_key=KEY, **fields | columns)


def local(**columns: Any) -> ModelProfile:
    fields = {"model_id": "llama-3.1", "base_url": "http://ollama:11434/v1", "window": 16_000, "is_local": False}
    return ModelProfile(name="Writer", **fields | columns)


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-5-sonnet-20241022", 8_192),
        ("claude-3-7-sonnet-latest", 64_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("anthropic/claude-haiku-4-5-20251001", 64_000),
        ("claude-opus-4-5-20251101", 64_000),
        ("claude-opus-4-6", 128_000),
        ("claude-sonnet-5-5", 128_000),
        ("claude-of-next-year", None),
        ("llama-3.1", None),
    ],
)
def test_what_a_model_can_write_is_known_by_its_family(model: str, most: int | None) -> None:
    assert reply_lengths.max_reply_tokens(model, "") == most


@pytest.mark.parametrize(
    ("profile", "used", "limit"),
    [
        (claude(), 0, 64_000),
        (claude(), 150_000, 50_000),
        (claude(), 199_500, 1_000),  # never less than is kept free
        (claude(max_reply_tokens=300), 0, 300),
        (claude(max_reply_tokens=300), 199_900, 300),
        (claude(max_reply_tokens=100_000), 0, 100_000),  # who set it knows better than a table
        (claude(max_reply_tokens=100_000), 120_000, 80_000),
        (claude(model_id="claude-of-next-year"), 0, 8_192),
        (claude(model_id="other-1", window=4_000), 0, 4_000),
        (local(), 0, None),
        (local(), 15_000, None),
        (local(max_reply_tokens=8_000), 1_000, 8_000),
        (local(max_reply_tokens=8_000), 10_000, 6_000),
        (local(max_reply_tokens=8_000), 15_900, 4_000),
        (local(max_reply_tokens=20_000, is_local=True), 600, 13_000),
    ],
)
def test_a_reply_is_asked_to_be_as_long_as_it_can_be(profile: ModelProfile, used: int, limit: int | None) -> None:
    assert reply_limit(profile, used=used) == limit


def test_what_is_kept_free_is_what_it_was() -> None:
    assert claude().usable_window.reserve == 1_000
    assert claude(max_reply_tokens=9_000).usable_window.reserve == 9_000
    assert claude(max_reply_tokens=9_000, window=16_000).usable_window.reserve == 4_000


REFUSALS = [
    ("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for", NamedLimit(8_192, True)),
    ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", NamedLimit(16_384, True)),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`", NamedLimit(8_192, True)),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", NamedLimit(8_192, True)),
    ("input length and `max_tokens` exceed context limit: 197000 + 100000 > 200000", NamedLimit(3_000, False)),
    ("'max_tokens' is too large: 100000. This model's maximum context length is 4096 tokens and your request has 1200 "
     "input tokens (100000 > 4096 - 1200)", NamedLimit(2_896, False)),
    ("This model's maximum context length is 4097 tokens. However, you requested 101000 tokens (1000 in the messages, "
     "100000 in the completion).", NamedLimit(3_097, False)),
    ("input length and `max_tokens` exceed context limit: 199900 + 100000 > 200000", None),  # the prompt is too long
    ("max_tokens: 100000 > 200000, which is", None),
    ("max_tokens: 100000 > 0", None),
    ("max_tokens is too large", None),
    ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 100000 `max_new_tokens`",
     NamedLimit(1_096, False)),
    ("temperature: Input should be less than or equal to 2", None),
    ("top_logprobs must be less than or equal to 20", None),
    ("'top_k' must be between 1 and 100", None),
    ("max_tokens must be at least 1", None),
    ("prompt tokens plus max_tokens exceed the limit of 8192", None),
    ("max_tokens + prompt must be at most 8192", None),
    ("max_tokens: 100000 tokens; rate limit of 100 requests per minute", None),
    ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("complaint", "named"), REFUSALS)
def test_a_refusal_names_what_is_left_for_a_reply(complaint: str, named: NamedLimit | None) -> None:
    assert reply_lengths.limit_named_in(complaint, asked=100_000) == named
    assert reply_lengths.limit_named_in(complaint, asked=None) is None


def test_a_refusal_of_any_length_is_read_at_once() -> None:
    for piece in ("maximum context length is 1 tokens ", "(1 > 1 - ", "max_tokens: 1 > ", "valid range of max"):
        assert reply_lengths.limit_named_in(piece * 50_000, asked=100) is None


@pytest.mark.parametrize("kind", [Anthropic, OpenAICompatible])
async def test_a_server_that_names_its_maximum_is_asked_for_that_from_then_on(llm: LlmServer, kind: Any) -> None:
    naps = Naps()
    how = {"name": "Writer", "model": "writer-9", "base_url": llm.url, "api_key": KEY, "timeout": 2.0}
    llm.enqueue(status=400, message="max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens")
    for _ in range(2):
        assert (await streamed(kind(max_tokens=100_000, sleep=naps, **how)))[-1].finish_reason == "stop"
    assert [body["max_tokens"] for body in llm.requests] == [100_000, 8_192, 8_192]
    await completed(kind(max_tokens=100_000, sleep=naps, **how))
    assert llm.requests[-1]["max_tokens"] == 50
    profile = claude(model_id="writer-9", base_url=llm.url)
    assert reply_limit(profile, used=0) == 8_192
    assert not naps


async def test_a_window_that_leaves_less_than_was_counted_costs_one_request_more(llm: LlmServer) -> None:
    llm.enqueue(status=400, message="input length and `max_tokens` exceed context limit: 140000 + 64000 > 200000")
    model = connect(claude(base_url=llm.url), used=100_000)
    assert (await streamed(model))[-1].finish_reason == "stop"
    await streamed(model)
    assert [body["max_tokens"] for body in llm.requests] == [64_000, 60_000, 64_000]


async def test_a_prompt_that_is_too_long_is_told_as_that(llm: LlmServer) -> None:
    llm.enqueue(status=400, message="input length and `max_tokens` exceed context limit: 199990 + 64000 > 200000")
    with pytest.raises(errors.ContextTooLong):
        await streamed(connect(claude(base_url=llm.url), used=100_000))
    assert len(llm.requests) == 1


async def test_a_model_that_always_thinks_has_its_room_within_what_it_can_write(llm: LlmServer) -> None:
    for most, used, sent in [
        (None, 0, 128_000),
        (1_000, 0, 1_000 + THINKING_TOKENS),
        (None, 990_000, 10_000),
        (8_000, 990_000, 10_000),
        (127_000, 0, 128_000),
    ]:
        profile = claude(model_id="claude-opus-5-5", window=1_000_000, base_url=llm.url, max_reply_tokens=most)
        await streamed(connect(profile, used=used))
        assert llm.requests[-1]["max_tokens"] == sent, (most, used)
        assert llm.requests[-1]["output_config"] == {"effort": "low"}


async def test_a_server_of_openais_api_is_told_a_limit_only_where_the_profile_has_one(llm: LlmServer) -> None:
    await streamed(connect(local(base_url=llm.url), used=9_000))
    assert not llm.requests[-1].keys() & {"max_tokens", "max_completion_tokens"}
    await streamed(connect(local(base_url=llm.url, max_reply_tokens=8_000), used=9_000))
    assert llm.requests[-1]["max_tokens"] == 7_000
