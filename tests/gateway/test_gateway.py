"""What passes the gateway: requests and answers untouched, and every fault told in words."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.gateway.caller import ANSWER, Caller, checkpoint, tokens
from tests.gateway.conftest import SETTINGS

WEATHER = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
PIXEL = "data:image/png;base64," + "iVBORw0KGgo" * 400


def test_a_short_history_goes_through_untouched(caller: Caller) -> None:
    messages = caller.history(3)
    caller.served.llm.enqueue("Hello there.")
    answer = caller.ask(messages)
    assert answer.parse().choices[0].message.content == "Hello there."
    assert caller.sent == messages
    assert checkpoint(answer) == "none"
    before, after = tokens(answer)
    assert before == after > 0


def test_tools_images_and_fields_of_other_servers_pass_untouched(caller: Caller) -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "Exact.", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "name": "Ann", "content": [{"type": "image_url", "image_url": {"url": PIXEL}}]},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny " * 500},
        {"role": "user", "content": "And tomorrow?"},
    ]  # fmt: skip
    body = {"model": "scripted", "messages": messages, "tools": [WEATHER], "top_k": 5, "min_p": 0.1}
    assert caller.post(json.dumps(body)).status_code == 200
    sent = caller.served.llm.last_request.body
    assert {name: sent[name] for name in body} == body
    assert set(sent) == set(body)


def test_an_image_has_a_fixed_cost_whatever_its_size(caller: Caller) -> None:
    def asked(url: str) -> int:
        content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
        return tokens(caller.ask([{"role": "user", "content": content}]))[0]

    small, large = asked(PIXEL), asked(PIXEL * 50)
    assert 1_100 < small < 1_600
    assert abs(large - small) < 10, "but for the hash that stands for it"


def test_tools_count_as_part_of_the_prompt(caller: Caller) -> None:
    messages = caller.history(1)
    assert tokens(caller.ask(messages, tools=[WEATHER]))[0] > tokens(caller.ask(messages))[0] + 20


def test_the_answer_is_the_provider_s_own(caller: Caller) -> None:
    caller.served.llm.enqueue("Grüße 🦊", finish_reason="length")
    body = caller.post(json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]})).json()
    assert body["choices"] == [
        {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": "Grüße 🦊", "refusal": None},
        }
    ]
    assert body["usage"]["completion_tokens"] > 0


def test_a_stream_comes_as_the_provider_sends_it(caller: Caller) -> None:
    caller.served.llm.enqueue("One two three.", drip=0.05)
    began, times = time.monotonic(), []
    stream = caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
    text = ""
    for chunk in stream:
        times.append(time.monotonic() - began)
        assert chunk.choices, "nobody asked for the usage"
        text += chunk.choices[0].delta.content or ""
    assert text == "One two three."
    assert times[-1] - times[0] > 0.05, "it came all at once"
    row = caller.call()
    assert (row["is_stream"], row["status"]) == (1, 200)
    assert row["prompt_tokens"] > 0
    assert row["first_token_ms"] <= row["duration_ms"]


def test_a_stream_tells_its_usage_to_who_asks_for_it(caller: Caller) -> None:
    chunks = list(
        caller.client.chat.completions.create(
            model="scripted", messages=caller.history(1), stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].usage.prompt_tokens > 0
    assert not chunks[-1].choices


def test_a_server_that_takes_no_stream_options_is_asked_without(caller: Caller) -> None:
    caller.served.llm.enqueue(status=400, message="stream_options: unknown field")
    caller.served.llm.enqueue("Well.")
    stream = caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "Well."
    assert "stream_options" not in caller.served.llm.last_request.body


def test_models_are_listed_by_the_names_of_their_profiles(caller: Caller) -> None:
    (model,) = caller.client.models.list()
    assert (model.id, model.owned_by) == ("scripted", "openai")
    assert caller.client.models.retrieve("scripted").context_window == 3_400
    with pytest.raises(openai.NotFoundError, match="no model called 'gpt-9'"):
        caller.client.models.retrieve("gpt-9")
    with pytest.raises(openai.NotFoundError, match="GET /v1/models lists them"):
        caller.ask(caller.history(1), model="gpt-9")


BAD: dict[str, tuple[Any, int, str]] = {
    "nothing": (b"", 400, "not valid JSON"),
    "no JSON": (b'{"model": ', 400, "not valid JSON"),
    "an array": (b"[]", 400, "must be a JSON object"),
    "nested": (b"[" * 10_000 + b"]" * 10_000, 400, "nested too deeply"),
    "a key twice": (b'{"model": "scripted", "model": "b", "messages": []}', 400, "appears twice"),
    "NaN": (b'{"model": "scripted", "temperature": NaN}', 400, "no number"),
    "infinite": (b'{"model": "scripted", "temperature": 1e999}', 400, "too large a number"),
    "not UTF-8": (b'{"model": "\xff"}', 400, "not UTF-8"),
    "a number as a model": ({"model": 4}, 400, "model: must be text"),
    "a model without a name": ({"model": ""}, 400, "model: must not be empty"),
    "no messages": ({"messages": None}, 400, "messages: must be a list"),
    "an empty history": ({"messages": []}, 400, "at least one message"),
    "a message that is none": ({"messages": ["hi"]}, 400, "messages[0]: must be an object"),
    "another role": ({"messages": [{"role": "boss", "content": "hi"}]}, 400, "messages[0].role"),
    "a number for content": ({"messages": [{"role": "user", "content": 5}]}, 400, "messages[0].content"),
    "parts without type": ({"messages": [{"role": "user", "content": [{}]}]}, 400, "messages[0].content"),
    "calls that are none": ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, 400, "messages[0].tool_calls"),
    "stream of yes": ({"stream": "yes"}, 400, "stream:"),
}


def test_a_byte_order_mark_is_no_part_of_a_body_and_a_compressed_body_is_refused(caller: Caller) -> None:
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}).encode()
    assert caller.post(b"\xef\xbb\xbf" + body).status_code == 200
    refused = caller.post(gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert refused.status_code == 415
    assert "uncompressed" in refused.json()["error"]["message"]


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(caller: Caller, name: str) -> None:
    body, status, said = BAD[name]
    whole = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
    answer = caller.post(body if isinstance(body, bytes) else json.dumps(whole | body))
    error = answer.json()["error"]
    assert (answer.status_code, said in error["message"]) == (status, True), error
    assert set(error) == {"code", "message", "detail", "type", "param"}
    assert not caller.served.llm.received


def test_other_ways_to_be_wrong_have_their_status(caller: Caller) -> None:
    good = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]})
    assert caller.post(good, **{"Content-Type": "text/plain"}).status_code == 415
    assert caller.post(good, path="/nowhere").json()["error"]["code"] == "not_found"
    assert caller.post(good, path="/models").status_code == 405
    assert caller.post(good, Host="evil.example").status_code == 400
    assert caller.post(b" " * 26_000_000).status_code == 413
    assert httpx2.get(caller.url + "/chat/completions").status_code == 405


@pytest.mark.parametrize("given", ["Bearer cs_wrong", "Basic abc", "Bearer", ""])
def test_a_wrong_key_is_refused_as_openai_does_it(caller: Caller, given: str) -> None:
    answer = caller.post("{}", Authorization=given)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    with pytest.raises(openai.AuthenticationError):
        Caller(caller.served, key="cs_wrong").ask(caller.history(1))


def test_a_revoked_key_lets_nobody_in(caller: Caller) -> None:
    caller.rows("UPDATE conversations_apikey SET revoked_at = '2026-01-01'")
    try:
        with pytest.raises(openai.AuthenticationError):
            caller.ask(caller.history(1))
    finally:
        caller.rows("UPDATE conversations_apikey SET revoked_at = NULL")


FAULTS: dict[str, tuple[dict[str, Any], int, str]] = {
    "401": ({"status": 401, "message": "Incorrect API key: sk-te***st"}, 502, "provider_key_refused"),
    "a key that is refused with 400": ({"status": 400, "message": "API key not valid."}, 502, "provider_key_refused"),
    "no credit": ({"status": 429, "message": "Insufficient Balance"}, 402, "provider_no_credit"),
    "404": ({"status": 404}, 502, "provider_model_not_found"),
    "429": ({"status": 429, "retry_after": "7"}, 429, "rate_limit_exceeded"),
    "500": ({"status": 500}, 502, "provider_unavailable"),
    "503": ({"status": 503}, 502, "provider_unavailable"),
    "reset": ({"fault": "reset"}, 502, "provider_unavailable"),
    "a web page": ({"fault": "html"}, 502, "provider_broken"),
    "half": ({"fault": "half"}, 502, "provider_broken"),
    "not UTF-8": ({"fault": "bytes"}, 502, "provider_broken"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_provider_is_told_in_words(caller: Caller, name: str) -> None:
    scripted, status, code = FAULTS[name]
    caller.served.llm.enqueue("word " * 20, **scripted)
    answer = caller.post(json.dumps({"model": "scripted", "messages": caller.history(1)}))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert "sk-te" not in answer.text
    assert answer.headers.get("retry-after") == scripted.get("retry_after")
    assert len(caller.served.llm.received) == 1, "OpenAI's clients try again by themselves"
    own = {"rate_limit_exceeded": "provider_rate_limited"}  # OpenAI's name for our code
    assert caller.call()["error"] == own.get(code, code)


@pytest.mark.parametrize(
    "refusal",
    [
        {"id": "x", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        {"error": {"code": "1113", "message": "余额不足"}},
    ],
)
def test_a_refusal_with_status_200_is_an_error_with_its_reason(caller: Caller, refusal: dict[str, Any]) -> None:
    caller.served.llm.enqueue(events=[refusal])
    with pytest.raises(openai.APIError, match="no credit left"):
        list(caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True))
    assert caller.call()["error"] == "provider_no_credit"


def test_what_the_provider_refuses_is_told_with_its_reason(caller: Caller) -> None:
    caller.served.llm.enqueue(status=400, message="Invalid schema for function 'weather' with key sk-abcdef123456.")
    with pytest.raises(openai.BadRequestError, match="Invalid schema for function 'weather'") as refused:
        caller.ask(caller.history(1), tools=[WEATHER])
    assert "sk-abcdef" not in str(refused.value)


def test_a_provider_that_is_silent_is_given_up(caller: Caller) -> None:
    caller.served.llm.enqueue(fault="stall")
    with pytest.raises(openai.APIError, match="nothing came from"):
        list(caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True))


@pytest.mark.parametrize("fault", ["half", "unended", "error_midway", "half_stall"])
def test_a_stream_that_breaks_off_ends_with_an_error(caller: Caller, fault: str) -> None:
    caller.served.llm.enqueue("one two three four", fault=fault)
    stream = caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
    heard = []
    with pytest.raises(openai.APIError):
        heard += [chunk.choices[0].delta.content for chunk in stream if chunk.choices]
    row = caller.call()
    assert row["error"], row


def test_a_caller_that_goes_away_ends_the_provider_s_work(caller: Caller) -> None:
    caller.served.llm.enqueue("word " * 500, drip=0.02)
    aborted = caller.served.llm.aborted
    stream = caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
    next(iter(stream))
    stream.close()
    caller.served.llm.wait_for(lambda llm: llm.aborted > aborted)
    assert (caller.call()["status"], caller.call()["error"]) == (499, "client_gone")


def test_a_caller_that_goes_away_before_the_answer_ends_it_too(caller: Caller) -> None:
    caller.served.llm.enqueue("late", delay=20)
    aborted, asked = caller.served.llm.aborted, len(caller.served.llm.chats)
    caller.leave(caller.history(1), once=lambda llm: len(llm.chats) > asked)
    caller.served.llm.wait_for(lambda llm: llm.aborted > aborted)
    assert caller.call()["status"] == 499


def test_one_person_has_so_many_calls_at_once(caller: Caller) -> None:
    served, most = caller.served, int(SETTINGS["MAX_CALLS_PER_USER"])
    aborted = served.llm.aborted
    served.llm.enqueue("word " * 100, times=most, drip=0.05)
    streams = [
        caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
        for _ in range(most)
    ]
    with pytest.raises(openai.RateLimitError) as refused:
        caller.ask(caller.history(1))
    assert refused.value.response.headers["retry-after"]
    assert served.ask("GET", "/api/conversations")["items"], "calls that wait hold no place of other requests"
    for stream in streams:
        stream.close()
    served.llm.wait_for(lambda llm: llm.aborted == aborted + most)
    assert caller.ask([*caller.history(1), ANSWER, {"role": "user", "content": "?"}]).parse().choices


def test_each_answer_has_an_id_that_the_clients_read(caller: Caller) -> None:
    ids = [caller.ask(caller.history(1)).parse()._request_id for _ in range(2)]
    with pytest.raises(openai.BadRequestError) as refused:
        caller.ask([])
    ids.append(refused.value.request_id)
    assert len({*ids}) == 3 and all(ids)
    with anthropic.Anthropic(base_url=caller.served.site.url, api_key=caller.served.key, max_retries=0) as client:
        said = client.messages.create(model="scripted", max_tokens=50, messages=[{"role": "user", "content": "hi"}])
    assert said._request_id and said._request_id not in ids
