"""OpenAI's Responses through the gateway, by the official client, in front of a model of chat completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response

from compression.core.tokens import count_tokens
from conversations.errors import Invalid
from conversations.gateway.openai_responses import events, reply, request
from conversations.gateway.openai_responses.compaction import compaction_item
from conversations.gateway.openai_responses.items import starts_of
from conversations.gateway.protocol import CallerRequest
from conversations.models import ModelProfile
from tests.gateway.caller import MARK, Caller, tokens

WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": False}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Patches files.",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}}  # fmt: skip
SEARCH = {"type": "web_search"}
HOSTED = {"type": "shell", "environment": {"type": "container_auto"}}
MCP = {"type": "namespace", "name": "files", "tools": [WEATHER | {"name": "read"}]}
TOOLS: list[Any] = [WEATHER, PATCH, SEARCH, MCP]
PIXEL = "data:image/png;base64,iVBORw0KGgo"
MODEL = ModelProfile(name="scripted", base_url="http://127.0.0.1:1/v1", window=8_000)


def read(**body: Any) -> dict[str, Any]:
    return request.read({"model": "scripted", "input": "hi"} | body, MODEL)


@pytest.mark.parametrize("streams", [False, True])
def test_a_response_has_text_calls_and_figures(caller: Caller, streams: bool) -> None:
    calls = [("weather", '{"city": "Bern"}'), ("apply_patch", '{"input": "*** Begin"}'), ("files__read", "{}")]
    caller.served.llm.enqueue("I look now.", calls=calls)
    ask: dict[str, Any] = {"model": "scripted", "input": "hi", "instructions": "Be short.", "tools": TOOLS}
    if streams:
        events = list(caller.client.responses.create(stream=True, store=False, **ask))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "I look now."
        assert [event.type for event in events][:3] == [
            "response.created", "response.in_progress", "response.output_item.added"]  # fmt: skip
        assert events[-1].type == "response.completed"
        done = [event.item for event in events if event.type == "response.output_item.done"]
        answer = events[-1].response
        assert [item.id for item in answer.output] == [item.id for item in done]
    else:
        answer = caller.client.responses.create(store=False, **ask)
    assert (answer.output_text, answer.status) == ("I look now.", "completed")
    _, weather, patch, mcp = answer.output
    assert (weather.type, weather.name, weather.arguments) == ("function_call", "weather", '{"city": "Bern"}')
    assert (patch.type, patch.name, patch.input) == ("custom_tool_call", "apply_patch", "*** Begin")
    assert (mcp.name, mcp.namespace) == ("read", "files")
    assert answer.usage and answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    sent = caller.served.llm.last_request.body
    assert sent["messages"] == [{"role": "system", "content": "Be short."}, {"role": "user", "content": "hi"}]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["weather", "apply_patch", "files__read"]
    assert "start: /.+/" in sent["tools"][1]["function"]["description"]


def test_items_come_as_chat_completions_have_them() -> None:
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Exact."}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": PIXEL}, {"type": "input_text", "text": "?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {"type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": "sunny"}, {"type": "input_image", "image_url": PIXEL}]},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"},
        compaction_item("cmp_1", "What was said."),
    ]  # fmt: skip
    image = {"type": "image_url", "image_url": {"url": PIXEL}}
    assert starts_of(items) == [0, 1, 3, 6, 7, 3, 8]
    assert read(input=items)["messages"] == [
        {"role": "system", "content": "Exact."},
        {"role": "user", "content": [image, {"type": "text", "text": "?"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {
                "name": "apply_patch", "arguments": '{"input":"*** Begin"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "c2", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "Image in the result of the tool call c1:"}, image]},
        {"role": "user", "content": "What was said."},
    ]  # fmt: skip


def test_a_long_history_is_compacted_and_the_caller_is_told_the_tokens_of_what_it_sent(caller: Caller) -> None:
    said = [message for message in caller.history(61) if message["role"] != "system"]
    for checkpoint in ("made", "hit"):
        answer = caller.client.responses.with_raw_response.create(model="scripted", input=said, store=False)
        before, after = tokens(answer)
        usage = answer.parse().usage
        assert usage and usage.input_tokens == before and after < 0.6 * before
        assert answer.headers["x-chatsite-checkpoint"] == checkpoint
        assert any(message["content"].startswith(MARK) for message in caller.sent)
        assert caller.sent[-1] == said[-1]


def compacted(caller: Caller, **body: Any) -> dict[str, Any]:
    """The answer, which the client reads, as it stands."""
    answer = caller.client.responses.with_raw_response.compact(model="scripted", **body)
    assert answer.parse().object == "response.compaction"
    told: dict[str, Any] = json.loads(answer.text)
    return told


def test_a_caller_compacts_its_items_and_goes_on_from_them(caller: Caller) -> None:
    """Calls stay with their results, what is recent stays as it is, and what is older is a summary to be read."""
    said = [message_of(message) for message in caller.history(41) if message["role"] != "system"]
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
    developer = message_of({"role": "developer", "content": "Be exact."})
    items = [developer, *said[:-1], call, result, said[-1]]
    made = compacted(caller, input=items, instructions="Be short.")
    assert made["usage"]["input_tokens"] > made["usage"]["output_tokens"] > 0
    output = made["output"]
    assert output[0] == developer and output[1]["type"] == "compaction"
    assert MARK in output[1]["summary"]
    recent = output[2:]
    assert 0 < len(recent) < len(items) - 5 and recent == items[-len(recent) :]
    assert call in recent and result in recent
    caller.client.responses.create(model="scripted", input=output, store=False)
    assert output[1]["summary"] in [message["content"] for message in caller.sent]


@pytest.mark.parametrize("streams", [False, True])
def test_a_trigger_is_answered_with_one_item_that_stands_for_all(caller: Caller, streams: bool) -> None:
    system, *said = caller.history(41)
    given: list[Any] = [system, *said, {"type": "compaction_trigger"}]
    ask: dict[str, Any] = {"model": "scripted", "input": given, "store": False}
    if streams:
        *_, added, done, last = caller.client.responses.create(stream=True, **ask)
        assert (added.type, done.type) == ("response.output_item.added", "response.output_item.done")
        answer = last.response
    else:
        answer = caller.client.responses.create(**ask)
    (item,) = answer.output
    assert item.type == "compaction" and MARK in item.to_dict()["summary"]
    assert answer.usage and answer.usage.input_tokens > answer.usage.output_tokens > 0
    assert not caller.served.llm.chats, "the model is not asked for an answer"
    sent_back = {"type": "compaction", "encrypted_content": item.encrypted_content}
    summary, again, *recent = read(input=[sent_back])["messages"]
    assert MARK in summary["content"] and again == system
    assert 0 < len(recent) < 35 and recent == said[-len(recent) :]
    assert read(input=[system, sent_back])["messages"] == [system, summary, *recent]


def message_of(message: dict[str, Any]) -> dict[str, Any]:
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    return {"type": "message", "role": message["role"], "content": [{"type": kind, "text": message["content"]}]}


def test_what_cannot_be_compacted_comes_back_as_it_is(caller: Caller) -> None:
    made = compacted(caller, input="hi")
    assert made["output"] == [message_of({"role": "user", "content": "hi"})]
    assert compacted(caller, input=[{"role": "user", "content": "hi"}])["output"] == made["output"]
    assert caller.summaries == 0


def test_a_stream_that_breaks_off_ends_with_a_failed_response(caller: Caller) -> None:
    caller.served.llm.enqueue("One two three four.", fault="half")
    events = list(caller.client.responses.create(model="scripted", input="hi", stream=True))
    assert events[-1].type == "response.failed"
    assert events[-1].response.error and "broke off" in events[-1].response.error.message


def test_a_reply_that_was_cut_is_incomplete(caller: Caller) -> None:
    caller.served.llm.enqueue("One two", finish_reason="length")
    answer = caller.client.responses.create(model="scripted", input="hi", max_output_tokens=2)
    assert answer.status == "incomplete"
    assert answer.incomplete_details and answer.incomplete_details.reason == "max_output_tokens"


BAD = {
    "input": [{"input": []}, {"input": [3]}, {"input": [{"role": "tool", "content": ""}]},
              {"input": [{"role": "user", "content": 3}]}, {"input": [{"role": "user", "content": [3]}]},
              {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
              {"input": [{"type": "function_call", "name": "f"}]},
              {"input": [{"type": "function_call_output", "output": "x"}]},
              {"input": [{"type": "compaction", "encrypted_content": "gAAAA"}]},
              {"input": [{"type": "compaction", "encrypted_content": "chatsite1.!"}]},
              {"input": [{"type": "compaction", "encrypted_content": "chatsite1.W10="}]}],
    "instructions": [{"instructions": 3}],
    "max_output_tokens": [{"max_output_tokens": "9"}, {"max_output_tokens": 0}],
    "tools": [{"tools": 3}, {"tools": [3]}, {"tools": [{"type": "function"}]}],
    "tool_choice": [{"tools": [WEATHER], "tool_choice": 3}, {"tools": [WEATHER], "tool_choice": {"type": "function"}}],
    "reasoning": [{"reasoning": 3}, {"reasoning": {"effort": "some"}}],
    "text": [{"text": 3}, {"text": {"format": {"type": "yaml"}}}],
    "service_tier": [{"service_tier": "priority"}],
}  # fmt: skip


@pytest.mark.parametrize("field", BAD)
def test_a_bad_field_is_named(field: str) -> None:
    for bad in BAD[field]:
        with pytest.raises(Invalid) as caught:
            read(**bad)
        assert caught.value.detail["field"].startswith(field), bad


def test_an_error_has_the_form_of_the_api(caller: Caller) -> None:
    with pytest.raises(openai.NotFoundError, match="no model called 'gpt-9'"):
        caller.client.responses.create(model="gpt-9", input="hi")
    for field, value in (("conversation", "c"), ("prompt", {"id": "p"})):
        answer = caller.post(json.dumps({"model": "scripted", "input": "hi", field: value}), path="/responses")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, field)


def test_tools_that_the_model_is_not_offered_are_named(caller: Caller) -> None:
    own: Any = [{"type": "function", "name": "ls", "parameters": {}}, {"type": "namespace", "name": "a", "tools": []}]
    others: Any = [{"type": "web_search"}, HOSTED, HOSTED, {"type": "x\r\ny"}]
    create = caller.client.responses.with_raw_response.create
    assert "x-chatsite-left-out" not in create(model="scripted", input="hi", tools=own).headers
    answer = create(model="scripted", input="hi", tools=[*own, *others])
    assert answer.headers["x-chatsite-left-out"] == "tools.shell, tools.web_search, tools.x??y"


def test_a_response_in_the_background_is_answered_at_once(caller: Caller) -> None:
    """A client that polls finds it completed."""
    answer = caller.client.responses.with_raw_response.create(model="scripted", input="hi", background=True)
    assert answer.headers["x-chatsite-left-out"] == "background"
    assert answer.parse().status == "completed"


def test_a_response_to_nothing_is_one_to_an_empty_message(caller: Caller) -> None:
    assert caller.client.responses.create().output_text == "All right."
    assert caller.sent == [{"role": "user", "content": ""}]


def test_the_tokens_of_an_input_are_counted_without_a_model(caller: Caller) -> None:
    count = caller.client.responses.input_tokens.count
    short, long = (count(model="scripted", input="word " * number).input_tokens for number in (10, 100))
    assert 10 < short < 40 and 100 < long < 160
    assert not caller.served.llm.chats


def test_what_cannot_fit_is_told_as_openai_tells_it(caller: Caller) -> None:
    """Clients do not ask again after a 400, and know the code."""
    with pytest.raises(openai.BadRequestError) as caught:
        caller.client.responses.create(model="scripted", input="word " * 5_000)
    assert caught.value.code == "context_length_exceeded" and caught.value.param is None
    assert "tokens (system 0" in str(caught.value)


def test_a_provider_that_reports_no_usage_is_counted() -> None:
    """A client that compacts by reported usage would never do so at 0."""

    async def chunks() -> AsyncGenerator[str]:
        yield 'data: {"choices": [{"delta": {"content": "One two three."}, "finish_reason": "stop"}]}\n\n'

    async def told() -> dict[str, Any]:
        asked = CallerRequest({"model": "m"}, counted=70)
        *_, last = [event async for event in events.events(chunks(), asked)]
        usage: dict[str, Any] = json.loads(last.split("data: ")[1])["response"]["usage"]
        return usage

    usage = asyncio.run(told())
    assert (usage["input_tokens"], usage["output_tokens"]) == (70, count_tokens("One two three."))


ITEMS = st.one_of(
    st.builds(lambda text: reply.message_item("m", text), st.text(min_size=1, max_size=20)),
    st.builds(
        lambda text: {"id": "f", "type": "function_call", "status": "completed", "call_id": "c1", "name": "weather",
                      "arguments": json.dumps({"city": text})}, st.text(max_size=9)),
    st.builds(
        lambda text: {"id": "f", "type": "custom_tool_call", "status": "completed", "call_id": "c1",
                      "name": "apply_patch", "input": text}, st.text(max_size=20)),
)  # fmt: skip


@given(st.lists(ITEMS, min_size=1, max_size=4))
def test_what_a_model_said_comes_back_as_it_was_read(items: list[dict[str, Any]]) -> None:
    """Items of the API, read as chat completions and told again, hold the same words and calls."""
    told: list[dict[str, Any]] = []
    for said in read(input=items)["messages"]:
        asked = CallerRequest({"model": "m", "tools": [WEATHER, PATCH]})
        whole = asyncio.run(reply.whole({"choices": [{"message": said, "finish_reason": "stop"}]}, asked))
        Response.model_validate(whole)
        told += whole["output"]

    def calls(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [item | {"id": "f"} for item in some if item["type"] != "message"]

    def words(some: list[dict[str, Any]]) -> str:
        return "".join(item["content"][0]["text"] for item in some if item["type"] == "message").replace("\n", "")

    assert calls(told) == calls(items) and words(told) == words(items)


ASKED: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "/messages": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 500},
    "/responses": {"input": "hi"},
}
THINKS_APART = {
    "prompt_tokens": 32,
    "completion_tokens": 9,
    "total_tokens": 135,
    "completion_tokens_details": {"reasoning_tokens": 94},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ASKED)
def test_thoughts_that_a_provider_counts_apart_are_part_of_the_output(
    caller: Caller, path: str, *, stream: bool
) -> None:
    caller.served.llm.enqueue("Yes.", usage=THINKS_APART)
    answer = caller.post(json.dumps(ASKED[path] | {"model": "scripted", "stream": stream}), path=path)
    assert answer.status_code == 200
    assert caller.call(prompt_tokens=32)["completion_tokens"] == 103
    assert path == "/chat/completions" or '"output_tokens":103' in answer.text.replace(" ", "")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many", "completion_tokens": "few", "total_tokens": {}},
        {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": [1], "completion_tokens_details": "x"},
    ],
)
def test_an_odd_usage_does_not_break_a_reply(caller: Caller, usage: dict[str, Any], path: str, *, stream: bool) -> None:
    caller.served.llm.enqueue("Yes.", usage=usage)
    answer = caller.post(json.dumps(ASKED[path] | {"model": "scripted", "stream": stream}), path=path)
    assert answer.status_code == 200 and "Yes." in answer.text
    assert '"error":{' not in answer.text.replace(" ", "")
