"""Everything that Anthropic's API can do wrong, over real HTTP, and what it is asked."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from importlib import import_module
from typing import Any

import pytest

from conversations.llm import errors
from conversations.llm.port import Reply, ReportedTokens
from conversations.llm.providers.anthropic import Anthropic, Events
from conversations.llm.providers.anthropic_blocks import OPENING
from conversations.llm.providers.anthropic_thinking import THINKING_TOKENS, Thinking
from conversations.llm.providers.provider import MAX_FORMS
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.request import Prompt
from tests.faults.providers import (
    KEY,
    PROMPT,
    QUICK,
    WORDS,
    Naps,
    ProviderFaults,
    assert_readable,
    completed,
    streamed,
)
from tests.llm_messages import complaint_about
from tests.llm_server import LlmServer


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    """Its import takes longer than a test may."""
    import_module("anthropic")


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
def model(llm: LlmServer, naps: Naps) -> Anthropic:
    return model_at(llm.url, naps)


def model_at(url: str, naps: Naps, *, key: str = KEY, model: str = "writer-1", **how: Any) -> Anthropic:
    how = {"timeout": 1.0, "max_tokens": 200} | how
    return Anthropic(name="Writer", model=model, base_url=url, api_key=key, sleep=naps, **how)


FINAL = [
    ({"status": 400}, errors.RequestRefused),
    ({"status": 401}, errors.KeyRefused),
    ({"status": 402}, errors.NoCredit),
    ({"status": 403}, errors.KeyRefused),
    ({"status": 404}, errors.ModelNotFound),
    ({"status": 413}, errors.RequestRefused),
    ({"status": 400, "message": "prompt is too long: 208310 tokens > 200000 maximum"}, errors.ContextTooLong),
    (
        {"status": 400, "message": "input length and `max_tokens` exceed context limit: 9 + 9 > 10"},
        errors.ContextTooLong,
    ),
    ({"status": 400, "message": "Your credit balance is too low"}, errors.NoCredit),
    ({"status": 429, "retry_after": "3600"}, errors.RateLimited),
    ({"status": 529, "retry_after": "120"}, errors.Unavailable),
    ({"fault": "stall"}, errors.Unavailable),
    ({"fault": "half_stall"}, errors.BrokenReply),
]
PASSING = [
    ({"status": 408}, errors.Unavailable),
    ({"status": 409}, errors.RequestRefused),
    ({"status": 429}, errors.RateLimited),
    ({"status": 429, "retry_after": "2"}, errors.RateLimited),
    ({"status": 500}, errors.Unavailable),
    ({"status": 503}, errors.Unavailable),
    ({"status": 529}, errors.Unavailable),
    ({"text": "x", "fault": "error_midway", "code": "overloaded_error"}, errors.Unavailable),
    ({"text": "x", "fault": "error_midway", "code": "rate_limit_error"}, errors.RateLimited),
    ({"fault": "reset"}, errors.Unavailable),
    ({"text": "x", "fault": "half"}, errors.Unavailable),
    ({"fault": "html"}, errors.BrokenReply),
    ({"fault": "no_choices"}, errors.BrokenReply),
    ({"fault": "null"}, errors.BrokenReply),
    ({"fault": "bytes"}, errors.BrokenReply),
]
MIDWAY = [{"fault": "half"}, {"fault": "unended"}, {"fault": "error_midway", "code": "overloaded_error"}]


class TestFaults(ProviderFaults):
    final, passing, midway = FINAL, PASSING, MIDWAY
    model_at = staticmethod(model_at)


async def test_an_overloaded_provider_is_called_so(llm, model):
    llm.enqueue(status=529, retry_after="120")
    with pytest.raises(errors.Unavailable, match=r"overloaded \(529\); it asks to wait 2 minutes"):
        await completed(model)


async def test_a_short_wait_that_the_provider_asks_for_is_kept(llm, model, naps):
    llm.enqueue(status=529, retry_after="2")
    await completed(model)
    assert naps == [2.0]


async def test_an_account_without_credit_is_told(llm, model):
    llm.enqueue(status=400, message="Your credit balance is too low to access the Anthropic API.")
    with pytest.raises(errors.NoCredit, match="no credit left"):
        await completed(model)


async def test_anthropic_is_not_asked_without_a_key(naps):
    for url in ("", "https://api.anthropic.com/v1/"):
        with pytest.raises(errors.NotConfigured, match="ANTHROPIC_API_KEY"):
            await completed(model_at(url, naps, key=""))


async def test_another_server_is_asked_without_a_key(llm, naps, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
    await completed(model_at(llm.url, naps, key=""))
    assert not [value for value in llm.last_request.headers.values() if "of-the-environment" in value]


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/"])
async def test_the_address_is_taken_with_and_without_its_version(llm, naps, tail):
    await completed(model_at(llm.url.removesuffix("/v1") + tail, naps))
    assert llm.last_request.path == "/v1/messages"


async def test_a_stall_ends_with_the_time_out(llm, model):
    llm.enqueue("one two three four", fault="half_stall")
    started = time.monotonic()
    with pytest.raises(errors.BrokenReply, match="nothing came"):
        await streamed(model)
    assert 0.4 < time.monotonic() - started < QUICK
    llm.wait_for(lambda server: server.aborted == 1)


async def test_a_whole_reply_that_only_drips_is_given_up(llm, naps):
    llm.enqueue("word " * 1_000, drip=0.05)
    with pytest.raises(errors.Unavailable, match="not whole"):
        await completed(model_at(llm.url, naps, timeout=0.1))
    llm.wait_for(lambda server: server.aborted == 1)


async def test_a_fault_after_the_reason_to_finish_costs_nothing(llm, model):
    llm.enqueue("All of it.", fault="late_reset")
    assert (await completed(model)).text == "All of it."
    assert len(llm.requests) == 1


async def test_stopping_the_reader_closes_the_connection(llm, model):
    llm.enqueue("word " * 500, drip=0.02)
    async with aclosing(model.stream(PROMPT)) as deltas:
        await anext(deltas)
    await asyncio.to_thread(llm.wait_for, lambda server: server.aborted == 1)


async def test_usage_counts_what_came_from_the_cache_and_what_went_into_it(llm, model):
    usage = {
        "input_tokens": 20,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 6,
        "output_tokens": 7,
    }
    llm.enqueue(usage=usage)
    assert (await streamed(model))[-1].spent == ReportedTokens(90, 7, cached=64)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"input_tokens": -5, "output_tokens": 7},
        {"input_tokens": 5, "output_tokens": None},
        {"input_tokens": "many", "output_tokens": 7},
        {"input_tokens": 1.5, "output_tokens": 7},
        {"input_tokens": True, "output_tokens": 7},
        {"input_tokens": 0, "output_tokens": 7},
        {"input_tokens": 2**31 - 1, "cache_read_input_tokens": 9, "output_tokens": 7},
        {"input_tokens": 5, "cache_read_input_tokens": "some", "output_tokens": 7},
        {"output_tokens": 7},
    ],
)
async def test_usage_that_cannot_be_true_is_dropped(llm, model, usage):
    llm.enqueue(usage=usage)
    assert await completed(model) == Reply("All right.", "stop", spent=None)


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("of_next_year", "of_next_year"),
    ],
)
async def test_the_reason_to_stop_is_told_in_our_words(llm, model, stop_reason, finish_reason):
    llm.enqueue("Half of", finish_reason=stop_reason)
    reply = await completed(model)
    assert (reply.finish_reason, reply.refused) == (finish_reason, False)


async def test_a_refusal_is_marked_and_one_without_words_is_an_error_in_a_chat(llm, model):
    llm.enqueue("I would rather not.", refusal=True)
    deltas = await streamed(model)
    assert (deltas[-1].finish_reason, deltas[-1].refused) == ("content_filter", True)
    llm.enqueue("", times=2, refusal=True)
    assert (await completed(model)).refused
    with pytest.raises(errors.RequestRefused, match="content filter") as caught:
        await streamed(model)
    assert_readable(caught.value)


async def test_thoughts_are_no_part_of_the_reply(llm, model):
    llm.enqueue("Yes.", thoughts="Is it? It is.")
    assert "".join(delta.text for delta in await streamed(model)) == "Yes."


async def test_a_message_that_comes_as_one_object_is_read(llm, model):
    llm.enqueue("Yes.", thoughts="Is it?", fault="other_form")
    deltas = await streamed(model)
    assert ("".join(one.text for one in deltas), "".join(one.thought for one in deltas)) == ("Yes.", "Is it?")
    assert (deltas[-1].finish_reason, deltas[-1].spent is not None) == ("stop", True)


async def test_events_without_names_are_read(llm, model):
    llm.enqueue("Yes.", fault="no_names")
    assert (await completed(model)).text == "Yes."


def test_an_event_without_a_type_is_passed_over():
    reading = Events("Writer", PROMPT)
    assert [reading.take(event) for event in ({}, {"usage": None}, {"type": "ping"})] == ["", "", ""]


async def test_a_request_is_what_was_assembled_and_no_more(llm, model):
    await streamed(model)
    assert llm.last_request.body == {
        "model": "writer-1",
        "stream": True,
        "max_tokens": 200,
        "thinking": {"type": "disabled"},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": WORDS}]}],
    }
    assert any(KEY in value for value in llm.last_request.headers.values())


async def test_the_key_and_the_version_go_in_anthropic_s_headers(llm, model):
    await completed(model)
    sent = llm.last_request.headers
    assert (sent["x-api-key"], sent["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in sent


async def test_a_prompt_that_is_sent_once_is_not_put_into_the_cache(llm, model):
    await completed(model)
    assert llm.last_request.body["system"] == [{"type": "text", "text": "Be brief."}]
    assert llm.last_request.body["max_tokens"] == 50


async def test_a_model_that_always_thinks_is_found_out_and_given_room(llm, naps):
    refusal = '"thinking.type.{}" is not supported for this model. Use "thinking.type.adaptive".'
    llm.enqueue(status=400, message=refusal.format("disabled"))
    llm.enqueue(status=400, message=refusal.format("between_tools"))
    for _ in range(2):
        assert (await completed(model_at(llm.url, naps, model="thinker-1"))).text == "All right."
    ways = [(body.get("thinking"), body.get("output_config"), body["max_tokens"]) for body in llm.requests]
    assert ways == [
        ({"type": "disabled"}, None, 50),
        ({"type": "between_tools"}, None, 50),
        *[(None, {"effort": "low"}, 50 + THINKING_TOKENS)] * 2,
    ]
    assert not naps


@pytest.mark.parametrize("effort", ["", "high"])
async def test_a_strict_server_is_asked_until_its_form_is_known(llm, naps, effort):
    """It names one field after the other; refused forms take no attempts."""
    model = model_at(llm.url, naps, model=f"strict-{effort}", attempts=1, effort=effort)
    refusals = [
        "thinking: Extra inputs are not permitted",
        "system.0.cache_control: Extra inputs are not permitted",
        "system: Input should be a valid string",
        "messages.0.content: Input should be a valid string",
    ]
    for refusal in refusals:
        llm.enqueue(status=400, message=refusal)
    for _ in range(2):
        assert "".join(delta.text for delta in await streamed(model)) == "All right."
    sent = {"system": "Be brief.", "messages": [{"role": "user", "content": WORDS}]}
    assert llm.last_request.body == {"model": f"strict-{effort}", "stream": True, "max_tokens": 200} | sent
    assert len(llm.requests) <= len(refusals) + 2 and not naps


async def test_a_server_that_knows_no_forms_at_all_is_given_up(llm, naps):
    llm.enqueue(
        times=50, status=400, message="messages: roles must alternate; thinking; cache_control is not supported"
    )
    with pytest.raises(errors.RequestRefused):
        await completed(model_at(llm.url, naps, model="strict-0"))
    assert len(llm.requests) <= MAX_FORMS


@pytest.mark.parametrize(
    ("model", "way"),
    [
        ("claude-haiku-4-5", Thinking.DISABLED),
        ("claude-sonnet-5", Thinking.DISABLED),
        ("claude-sonnet-5-5", Thinking.BETWEEN_TOOLS),
        ("claude-opus-5-5", Thinking.LITTLE),
        ("claude-fable-5-1", Thinking.LITTLE),
    ],
)
async def test_known_models_are_asked_their_way_at_once(llm, naps, model, way):
    await completed(model_at(llm.url, naps, model=model))
    assert llm.last_request.body.items() >= way.options(50).items()


async def test_a_server_that_refuses_every_way_is_not_asked_forever(llm, naps):
    llm.enqueue(times=9, status=400, message="thinking and effort are unknown")
    with pytest.raises(errors.RequestRefused):
        await completed(model_at(llm.url, naps, attempts=9))
    assert len(llm.requests) == len(Thinking)


CALL = {"id": "a b", "type": "function", "function": {"name": "read file", "arguments": '{"path": "x.py"}'}}


def asked(*messages: dict[str, Any]) -> dict[str, Any]:
    """The body for some messages; it keeps the rules of the API."""
    body = Anthropic(name="Writer", model="writer-1").body(Prompt(messages), recurs=False)
    assert complaint_about(body | {"max_tokens": 1}) == ""
    return body


def said(role: str, content: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def shape(body: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Roles and texts; of other blocks, the type."""
    return [(turn["role"], [part.get("text", part["type"]) for part in turn["content"]]) for turn in body["messages"]]


def test_the_first_system_messages_stand_apart_and_later_ones_are_the_users():
    body = asked(
        said("system", "Be brief."),
        said("system", "[Compressed Message Summary]"),
        said("user", "hello"),
        said("system", "Answer in French."),
        said("developer", "Be kind."),
    )
    assert [block["text"] for block in body["system"]] == ["Be brief.", "[Compressed Message Summary]"]
    assert shape(body) == [("user", ["hello", "Answer in French.", "Be kind."])]


def test_messages_of_one_role_become_one_with_a_block_each():
    body = asked(
        said("user", "a"), said("user", "b"), said("assistant", "c"), said("assistant", "d"), said("user", "e")
    )
    assert shape(body) == [("user", ["a", "b"]), ("assistant", ["c", "d"]), ("user", ["e"])]


def test_what_is_empty_is_left_out():
    body = asked(
        said("system", " "), said("user", "a"), said("assistant", " \n"), said("user", "b"), said("user", None)
    )
    assert "system" not in body
    assert shape(body) == [("user", ["a", "b"])]


@pytest.mark.parametrize("messages", [(), (said("system", "Be brief."),), (said("assistant", "Welcome."),)])
def test_the_first_message_is_a_users(messages):
    assert shape(asked(*messages))[0] == ("user", [OPENING])


def test_calls_and_results_are_blocks_that_belong_together():
    other = CALL | {"id": "c", "function": {"name": "", "arguments": "not JSON"}}
    body = asked(
        said("user", "look"),
        said("assistant", "I will.", tool_calls=[CALL, other]),
        said("tool", "print(1)", tool_call_id="a b"),
        said("tool", "", tool_call_id="c"),
        said("user", "and?"),
        said("assistant", None, tool_calls=[CALL]),
        said("tool", "print(2)", tool_call_id="a b"),
    )
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "id": "call_1", "name": fitting_name("read file"), "input": {"path": "x.py"}},
        {"type": "tool_use", "id": "call_2", "name": fitting_name(""), "input": {"arguments": "not JSON"}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "print(1)"},
        {"type": "tool_result", "tool_use_id": "call_2"},
        {"type": "text", "text": "and?"},
    ]
    assert shape(body)[3:] == [("assistant", ["tool_use"]), ("user", ["tool_result"])]


def test_a_call_without_a_result_gets_an_empty_one_and_a_result_without_a_call_is_text():
    body = asked(
        said("user", "look"),
        said("assistant", None, tool_calls=[CALL]),
        said("user", "never mind"),
        said("tool", "print(1)", tool_call_id="a b"),
        said("assistant", "Gone.", tool_calls=[CALL]),
    )
    assert shape(body) == [
        ("user", ["look"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result", "never mind", "print(1)"]),
        ("assistant", ["Gone.", "tool_use"]),
        ("user", ["tool_result"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        ("", {}),
        ("[1]", {"arguments": "[1]"}),
        ('{"share": NaN}', {"share": "NaN"}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
    ],
    ids=["none", "a list", "no number", "too deep"],
)
def test_arguments_are_always_an_object(arguments, input):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    body = asked(said("user", "go"), said("assistant", "", tool_calls=[call]))
    assert body["messages"][1]["content"][0]["input"] == input
