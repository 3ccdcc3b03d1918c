"""Everything that a provider can do wrong, over real HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from conversations.llm import clients, errors
from conversations.llm.errors import ModelError
from conversations.llm.port import Reply, ReportedTokens
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import MAX_FORMS
from conversations.llm.retries import in_words, retry_after
from tests.faults.providers import (
    KEY,
    PROMPT,
    QUICK,
    Naps,
    ProviderFaults,
    assert_readable,
    completed,
    streamed,
)
from tests.llm_server import LlmServer, closed_port


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
def model(llm: LlmServer, naps: Naps) -> OpenAICompatible:
    return model_at(llm.url, naps)


def model_at(url: str, naps: Naps, *, key: str = KEY, timeout: float = 1.0) -> OpenAICompatible:
    return OpenAICompatible(
        name="Writer", model="writer-1", base_url=url, api_key=key, timeout=timeout, max_tokens=200, sleep=naps
    )


FINAL = [
    ({"status": 400}, errors.RequestRefused),
    ({"status": 401}, errors.KeyRefused),
    ({"status": 402}, errors.NoCredit),
    ({"status": 403}, errors.KeyRefused),
    ({"status": 404}, errors.ModelNotFound),
    ({"status": 413}, errors.RequestRefused),
    ({"status": 422}, errors.RequestRefused),
    ({"status": 400, "code": "context_length_exceeded"}, errors.ContextTooLong),
    ({"status": 429, "retry_after": "3600"}, errors.RateLimited),
    ({"status": 429, "code": "insufficient_quota"}, errors.NoCredit),
    ({"status": 503, "retry_after": "120"}, errors.Unavailable),
    ({"fault": "stall"}, errors.Unavailable),
    ({"fault": "half_stall"}, errors.BrokenReply),
]
PASSING = [
    ({"status": 408}, errors.Unavailable),
    ({"status": 400, "code": "tool_use_failed"}, errors.BrokenReply),
    ({"status": 409}, errors.RequestRefused),
    ({"status": 429}, errors.RateLimited),
    ({"status": 429, "retry_after": "2"}, errors.RateLimited),
    ({"status": 500}, errors.Unavailable),
    ({"status": 503}, errors.Unavailable),
    ({"fault": "reset"}, errors.Unavailable),
    ({"fault": "html"}, errors.BrokenReply),
    ({"fault": "no_choices"}, errors.BrokenReply),
    ({"fault": "null"}, errors.BrokenReply),
    ({"fault": "bytes"}, errors.BrokenReply),
]
MIDWAY = [{"fault": "half"}, {"fault": "unended"}, {"fault": "error_midway", "code": "server_error"}]


class TestFaults(ProviderFaults):
    final, passing, midway = FINAL, PASSING, MIDWAY
    model_at = staticmethod(model_at)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1004, errors.KeyRefused),
        (1008, errors.NoCredit),
        (1026, errors.RequestRefused),
        (1039, errors.ContextTooLong),
        (9999, errors.Unavailable),
    ],
)
async def test_minimax_refuses_within_an_answer_with_status_200(llm, model, code, kind):
    refusal = {"id": "x", "choices": None, "base_resp": {"status_code": code, "status_msg": "no"}}
    llm.enqueue(events=[refusal], times=3)
    with pytest.raises(errors.ModelError) as caught:
        await streamed(model)
    assert type(caught.value) is kind and caught.value.provider_words == "no"


async def test_a_reply_with_an_error_code_of_zero_is_a_reply(llm, model):
    choice = {"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}
    base = {"base_resp": {"status_code": 0, "status_msg": ""}}
    llm.enqueue(events=[{"choices": [choice]} | base, {"choices": []} | base])
    assert "".join(delta.text for delta in await streamed(model)) == "Yes."


async def test_a_refusal_within_a_stream_has_its_reason_though_its_code_is_no_status(llm, model):
    """Zhipu's codes have four digits."""
    llm.enqueue(events=[{"error": {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}}])
    with pytest.raises(errors.NoCredit):
        await streamed(model)


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/v1", "http://[", "http://127.0.0.1:99999/v1"])
async def test_a_base_url_that_is_none_is_told(naps, url):
    with pytest.raises(ModelError, match="base URL") as caught:
        await completed(model_at(url, naps))
    assert_readable(caught.value)


@pytest.mark.parametrize("key", ["sk-secret-0123456789\n", "sk-sécret", "two words"])
async def test_a_key_that_cannot_be_sent_is_told_without_showing_it(llm, naps, key):
    with pytest.raises(errors.NotConfigured, match="key") as caught:
        await completed(model_at(llm.url, naps, key=key))
    assert key.strip() not in caught.value.reason
    assert not llm.requests


async def test_openai_is_not_asked_without_a_key(naps):
    with pytest.raises(errors.NotConfigured, match="OPENAI_API_KEY"):
        await completed(model_at("", naps, key=""))


async def test_a_password_in_the_base_url_is_not_told(naps):
    with closed_port() as url, pytest.raises(errors.Unavailable) as caught:
        await completed(model_at(url.replace("//", "//anna:hunter2@"), naps))
    assert "hunter2" not in caught.value.reason


async def test_the_pause_grows_and_is_jittered(llm, model, naps):
    llm.enqueue(times=3, status=500)
    with pytest.raises(errors.Unavailable):
        await completed(model)
    first, second = naps
    assert 0.25 <= first <= 0.5 <= second <= 1.0


async def test_a_short_wait_that_the_provider_asks_for_is_kept(llm, model, naps):
    llm.enqueue(status=429, retry_after="2")
    await completed(model)
    assert naps == [2.0]


async def test_a_long_wait_is_told_in_words(llm, model):
    llm.enqueue(status=429, retry_after="3600")
    with pytest.raises(errors.RateLimited, match="asks to wait 1 hour") as caught:
        await completed(model)
    assert caught.value.retry_after == 3600


def test_a_retry_after_header_is_a_number_or_a_date_or_ignored():
    soon = retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=90)))
    assert 85 < soon <= 90
    assert retry_after("7.5") == 7.5
    assert retry_after("-3") == 0
    assert [retry_after(header) for header in (None, "", "soon", "nan", "inf", "32 Foo 99")] == [None] * 6


def test_durations_are_told_as_a_person_would():
    told = [in_words(seconds) for seconds in (0.4, 1, 45, 60, 90, 3600, 5400, 7200, 172_800)]
    assert told == [
        "1 second", "1 second", "45 seconds", "1 minute", "90 seconds", "1 hour", "90 minutes", "2 hours", "2 days",
    ]  # fmt: skip


async def test_a_slow_reply_is_waited_for_as_long_as_it_comes(llm, model):
    llm.enqueue("one two three four five", drip=0.2)
    assert "".join(delta.text for delta in await streamed(model)) == "one two three four five"


async def test_a_whole_reply_that_only_drips_is_given_up(llm, naps):
    llm.enqueue("word " * 1_000, drip=0.05)
    started = time.monotonic()
    with pytest.raises(errors.Unavailable, match="not whole") as caught:
        await completed(model_at(llm.url, naps, timeout=0.1))
    assert time.monotonic() - started < QUICK
    assert_readable(caught.value)
    llm.wait_for(lambda server: server.aborted == 1)


async def test_a_stall_ends_with_the_time_out(llm, model):
    llm.enqueue(fault="stall")
    started = time.monotonic()
    with pytest.raises(errors.Unavailable, match="nothing came"):
        await streamed(model)
    assert 0.4 < time.monotonic() - started < QUICK
    llm.wait_for(lambda server: server.aborted == 1)


async def test_a_fault_after_the_reason_to_finish_costs_nothing(llm, model):
    llm.enqueue("All of it.", fault="late_reset")
    assert await completed(model) == Reply("All of it.", "stop")
    assert len(llm.requests) == 1


async def test_usage_is_as_the_provider_reports_it(llm, model):
    usage = {"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    llm.enqueue(usage=usage)
    assert (await streamed(model))[-1].spent == ReportedTokens(90, 7, cached=64)
    assert llm.last_request.body["stream_options"] == {"include_usage": True}


async def test_cached_tokens_are_read_as_deepseek_reports_them(llm, model):
    llm.enqueue(usage={"prompt_tokens": 90, "completion_tokens": 7, "prompt_cache_hit_tokens": 64})
    assert (await completed(model)).spent == ReportedTokens(90, 7, cached=64)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": -5, "completion_tokens": 7},
        {"prompt_tokens": 5, "completion_tokens": None},
        {"prompt_tokens": "many", "completion_tokens": 7},
        {"prompt_tokens": 1.5, "completion_tokens": 7},
        {"prompt_tokens": True, "completion_tokens": 7},
        {"prompt_tokens": 0, "completion_tokens": 7},
        {"prompt_tokens": 10**12, "completion_tokens": 7},
        {"total_tokens": 12},
    ],
)
async def test_usage_that_cannot_be_true_is_dropped(llm, model, usage):
    llm.enqueue(usage=usage)
    assert await completed(model) == Reply("All right.", "stop", spent=None)


async def test_a_cached_part_larger_than_the_prompt_is_dropped(llm, model):
    llm.enqueue(usage={"prompt_tokens": 9, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 10}})
    assert (await completed(model)).spent == ReportedTokens(9, 7, cached=0)


async def test_a_server_that_refuses_to_report_usage_is_asked_without(llm, naps):
    llm.enqueue(status=400, message="Unrecognized request argument supplied: stream_options")
    assert (await completed(model_at(llm.url, naps))).text == "All right."
    await completed(model_at(llm.url, naps))
    assert ["stream_options" in body for body in llm.requests] == [True, False, False]
    assert not naps


async def test_a_server_that_calls_the_limit_otherwise_is_asked_so(llm, naps):
    llm.enqueue(status=400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    await completed(model_at(llm.url, naps))
    await completed(model_at(llm.url, naps))
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in llm.requests]
    assert limits == [(50, None), (None, 50), (None, 50)]


async def test_a_server_that_refuses_every_limit_is_not_asked_forever(llm, model):
    llm.enqueue(times=50, status=400, message="max_tokens is too large, and so is stream_options")
    with pytest.raises(errors.RequestRefused):
        await completed(model)
    assert 3 < len(llm.requests) <= MAX_FORMS


async def test_a_refusal_is_the_reply(llm, model):
    llm.enqueue("I would rather not.", times=2, refusal=True)
    assert (await completed(model)).refused
    deltas = await streamed(model)
    assert "".join(delta.text for delta in deltas) == "I would rather not."
    assert deltas[-1].refused


async def test_what_a_content_filter_leaves_is_marked(llm, model):
    llm.enqueue("Take the", times=2, finish_reason="content_filter")
    assert await completed(model) == Reply("Take the", "content_filter", spent=ReportedTokens(18, 2), refused=True)
    assert (await streamed(model))[-1].refused


async def test_a_filter_that_leaves_nothing_is_an_error_in_a_chat(llm, model):
    llm.enqueue("", times=2, finish_reason="content_filter")
    with pytest.raises(errors.RequestRefused, match="content filter") as caught:
        await streamed(model)
    assert_readable(caught.value)
    assert (await completed(model)).refused


async def test_a_reply_that_was_cut_off_says_so(llm, model):
    llm.enqueue("Half of", finish_reason="length")
    assert (await completed(model)).finish_reason == "length"


async def test_thoughts_at_the_head_of_the_content_are_no_part_of_a_summary(llm, model):
    llm.enqueue("<think>hm</think> Yes.", piece=3)
    assert (await completed(model)).text == "Yes."


async def test_stopping_the_reader_closes_the_connection(llm, model):
    llm.enqueue("word " * 500, drip=0.02)
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(model.stream(PROMPT)) as deltas:
            async for _ in deltas:
                begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    llm.wait_for(lambda server: server.aborted == 1)


async def test_stopping_before_the_first_piece_closes_the_connection(llm, model):
    llm.enqueue(delay=30)
    asking = asyncio.create_task(completed(model))
    await asyncio.to_thread(llm.wait_for, lambda server: server.requests)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.to_thread(llm.wait_for, lambda server: server.aborted == 1)


async def test_a_web_page_in_place_of_a_reply_points_to_the_address(llm, model):
    llm.enqueue(times=3, fault="html")
    with pytest.raises(errors.BrokenReply, match=r"web page\. Check the base URL"):
        await completed(model)


async def test_many_turns_at_once_do_not_wait_for_each_other(llm, naps):
    llm.default = type(llm.default)("one two three", drip=0.05)
    started = time.monotonic()
    replies = await asyncio.gather(*(completed(model_at(llm.url, naps, timeout=5)) for _ in range(40)))
    assert {reply.text for reply in replies} == {"one two three"}
    assert time.monotonic() - started < 40 * 0.15 / 2


def test_a_client_lives_as_long_as_its_event_loop(llm, naps):
    for _ in range(2):
        assert asyncio.run(completed(model_at(llm.url, naps))).text == "All right."
    assert llm.connections == 2
    llm.wait_for(lambda server: server.open == 0)
    assert not [loop for loop in clients._pools if loop.is_closed()]


async def test_a_request_is_what_was_assembled_and_no_more(llm, model):
    await streamed(model)
    request = llm.last_request
    assert request.messages == list(PROMPT.messages)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body.keys() == {"model", "messages", "stream", "stream_options", "max_tokens"}
