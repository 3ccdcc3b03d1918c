"""Anthropic's Messages through the gateway, by the official client, in front of a model of chat completions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_tool
from anthropic.lib.tools import BetaAbstractMemoryTool
from anthropic.types import Message
from hypothesis import given
from hypothesis import strategies as st

from conversations.errors import Invalid
from conversations.gateway.anthropic import reply, request
from conversations.gateway.protocol import CallerRequest
from conversations.models import ModelProfile
from tests.gateway.caller import MARK, Caller, tokens
from tests.llm_messages import SIGNATURE

HI = [{"role": "user", "content": "hi"}]
WEATHER = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}
MODEL = ModelProfile(name="scripted", base_url="http://127.0.0.1:1/v1", window=8_000)
TURN = [
    {"role": "user", "content": [{"type": "image", "source": PIXEL}, {"type": "text", "text": "Where is it?"}]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Bern, I think.", "signature": "s1gned"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": [
            {"type": "text", "text": "no network"}, {"type": "image", "source": PIXEL}]},
        {"type": "text", "text": "And now?", "cache_control": {"type": "ephemeral"}}]},
]  # fmt: skip


def client(caller: Caller) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=caller.served.site.url, api_key=caller.served.key, max_retries=0)


def read(**body: Any) -> dict[str, Any]:
    return request.read({"model": "scripted", "max_tokens": 100, "messages": HI} | body, MODEL)


def test_a_message_is_answered_with_the_figures_of_its_provider(caller: Caller) -> None:
    caller.served.llm.enqueue("Hello there.", finish_reason="length")
    answer = client(caller).messages.create(
        model="scripted", max_tokens=16_000, system=[{"type": "text", "text": "Be short."}], messages=HI,
        stop_sequences=["END"], extra_body={"temperature": 0.5}, tools=[WEATHER], tool_choice={"type": "any"},
        metadata={"user_id": "me"},
    )  # fmt: skip
    assert (answer.content[0].text, answer.stop_reason, answer.model) == ("Hello there.", "max_tokens", "scripted")
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    sent = caller.served.llm.last_request.body
    assert sent["messages"] == [{"role": "system", "content": "Be short."}, *HI]
    assert (sent["stop"], sent["temperature"]) == (["END"], 0.5)
    assert 3_200 < sent["max_tokens"] < 3_400, "all the room that there is"
    assert sent["tool_choice"] == "required" and "metadata" not in sent
    assert sent["tools"][0]["function"] == {"name": "weather", "parameters": WEATHER["input_schema"]}
    row = caller.call()
    assert (row["status"], row["is_stream"]) == (200, 0) and row["prompt_tokens"] > 0


def test_a_turn_with_an_image_and_a_tool_comes_as_chat_completions_have_it() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}}
    assert read(messages=TURN)["messages"] == [
        {"role": "user", "content": [image, {"type": "text", "text": "Where is it?"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            CALL | {"function": {"name": "weather", "arguments": '{"city":"Bern"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "[error] no network"},
        {"role": "user", "content": [
            {"type": "text", "text": "Image in the result of the tool call c1:"}, image,
            {"type": "text", "text": "And now?"}]},
    ]  # fmt: skip


@pytest.mark.parametrize("streams", [False, True])
def test_a_call_of_a_tool_comes_as_a_block_with_an_object(caller: Caller, streams: bool) -> None:
    caller.served.llm.enqueue("I look.", calls=[("weather", '{"city": "Bern"}'), ("weather", '{"city": "Rome"}')])
    ask = {"model": "scripted", "max_tokens": 100, "messages": HI, "tools": [WEATHER]}
    if streams:
        with client(caller).messages.stream(**ask) as stream:
            answer = stream.get_final_message()
    else:
        answer = client(caller).messages.create(**ask)
    text, *uses = answer.content
    assert (text.text, answer.stop_reason) == ("I look.", "tool_use")
    assert [(use.name, use.input) for use in uses] == [("weather", {"city": "Bern"}), ("weather", {"city": "Rome"})]
    assert all(use.id for use in uses) and uses[0].id != uses[1].id
    assert answer.usage.output_tokens > 0


def test_a_long_history_is_compacted_and_the_caller_is_told_the_tokens_of_what_it_sent(caller: Caller) -> None:
    *_, said = caller.history(61), [m for m in caller.history(61) if m["role"] != "system"]
    counted = client(caller).messages.count_tokens(model="scripted", messages=said).input_tokens
    for _ in range(2):
        answer = client(caller).messages.with_raw_response.create(model="scripted", max_tokens=100, messages=said)
        before, after = tokens(answer)
        assert answer.parse().usage.input_tokens == before > 0.9 * counted
        assert after < 0.6 * before
        assert any(message["content"].startswith(MARK) for message in caller.sent)
        assert caller.sent[-1] == said[-1]
    assert answer.headers["x-chatsite-checkpoint"] == "hit"


def test_a_large_limit_for_the_reply_takes_no_room_from_the_history(caller: Caller) -> None:
    """As Claude Code sends it with each request: a third of the window in tools, and a limit beyond all of it."""
    system = "Rule: be exact about shelves. " * 250
    said = [message for message in caller.history(61) if message["role"] != "system"]
    answer = client(caller).messages.with_raw_response.create(
        model="scripted", max_tokens=16_000, system=system, messages=said
    )
    assert answer.headers["x-chatsite-checkpoint"] == "made" and caller.sent[-1] == said[-1]


def test_a_body_of_any_size_is_read_of_who_sends_the_key_in_its_own_header(caller: Caller) -> None:
    said = [message for message in caller.history(61, words=250) if message["role"] != "system"]
    assert len(json.dumps(said)) > 65_536, "nobody unknown may send so much"
    assert client(caller).messages.create(model="scripted", max_tokens=100, messages=said).content


def test_the_same_history_by_either_protocol_has_one_summary(caller: Caller) -> None:
    messages = caller.history(61)
    caller.ask(messages)
    answer = client(caller).messages.with_raw_response.create(
        model="scripted", max_tokens=100, system=messages[0]["content"], messages=messages[1:]
    )
    assert answer.headers["x-chatsite-checkpoint"] == "hit"


def test_a_provider_that_speaks_messages_is_sent_what_fits_as_it_is(caller: Caller) -> None:
    """Signed thoughts, marks for its cache, and headers of betas; its events come back as they are."""
    llm = caller.served.llm
    caller.run(
        "from conversations.models import ModelProfile\n"
        "ModelProfile.objects.get_or_create(name='claude', defaults={'provider': 'anthropic', 'model_id': 'claude-x', "
        f"'base_url': '{llm.url}', 'api_key': 'sk-ant', 'window': 9_000}})"
    )
    said = [
        {"role": "user", "content": [{"type": "text", "text": "Where?", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
    ]  # fmt: skip
    ask = {"model": "claude", "max_tokens": 3_000, "messages": said, "tools": [WEATHER],
           "thinking": {"type": "enabled", "budget_tokens": 2_000}}  # fmt: skip
    llm.enqueue("In Bern.", thoughts="It is Bern.")
    with client(caller).messages.stream(**ask, extra_headers={"anthropic-beta": "new-2027-01-01"}) as stream:
        answer = stream.get_final_message()
    thought, text = answer.content
    assert (thought.type, bool(thought.signature), text.text) == ("thinking", True, "In Bern.")
    sent = llm.last_request
    assert sent.path == "/v1/messages" and sent.headers["anthropic-beta"] == "new-2027-01-01"
    assert sent.body == ask | {"model": "claude-x", "stream": True}
    row = caller.call()
    assert (row["status"], row["is_stream"]) == (200, 1) and row["prompt_tokens"] > 0 and row["completion_tokens"] > 0
    llm.enqueue("One two three.", fault="half")
    assert caller.post(json.dumps(sent.body | {"model": "claude"}), path="/messages").text.count("event: error") == 1
    caller.rows("DELETE FROM conversations_modelprofile WHERE name = 'claude'")


@beta_tool
def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: The first one.
        b: The second one.
    """
    return str(a + b)


def test_the_tool_runner_at_its_defaults_sends_the_whole_history(caller: Caller) -> None:
    """It leaves its history with the server, and sends all of it once it hears that none is held here."""
    caller.served.llm.enqueue("", calls=[("add", json.dumps({"a": 1, "b": 2}))])
    caller.served.llm.enqueue("It is 3.")
    said: Any = [{"role": "user", "content": "What is 1 + 2?"}]
    runner = client(caller).beta.messages.tool_runner(model="scripted", max_tokens=500, tools=[add], messages=said)
    assert [block.type for message in runner for block in message.content] == ["tool_use", "text"]
    assert [message["role"] for message in caller.sent] == ["user", "assistant", "tool"]
    assert caller.sent[-1]["content"] == "3"


class Notes(BetaAbstractMemoryTool):
    """The memory tool of Anthropic's SDK, with notes in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def view(self, command: Any) -> str:
        return self.files.get(command.path, "nothing")

    def create(self, command: Any) -> str:
        self.files[command.path] = command.file_text
        return "created"

    str_replace = insert = delete = rename = view


def test_the_memory_tool_of_anthropic_s_client_works_with_other_models(caller: Caller) -> None:
    notes = Notes()
    written = {"command": "create", "path": "/memories/port.md", "file_text": "The port is 8443."}
    caller.served.llm.enqueue("", calls=[("memory", json.dumps(written))])
    caller.served.llm.enqueue("Noted.")
    said: Any = [{"role": "user", "content": "The port is 8443."}]
    runner = client(caller).beta.messages.tool_runner(model="scripted", max_tokens=500, tools=[notes], messages=said)
    assert [block.type for message in runner for block in message.content] == ["tool_use", "text"]
    assert notes.files == {"/memories/port.md": "The port is 8443."}
    function = caller.served.llm.last_request.body["tools"][0]["function"]
    assert function["name"] == "memory" and "rename" in function["parameters"]["properties"]["command"]["enum"]


@pytest.mark.parametrize(
    ("type", "name", "field"),
    [
        ("bash_20250124", "bash", "restart"),
        ("text_editor_20250124", "str_replace_editor", "view_range"),
        ("text_editor_20250728", "str_replace_based_edit_tool", "insert_text"),
        ("memory_20250818", "memory", "old_path"),
    ],
)
def test_typed_tools_that_the_caller_carries_out_become_functions(type: str, name: str, field: str) -> None:
    body = {"max_tokens": 9, "messages": HI, "tools": [{"type": type, "name": name}]}
    function = request.read(body, MODEL)["tools"][0]["function"]
    assert (function["name"], bool(function["description"])) == (name, True)
    fields = function["parameters"]["properties"]
    assert field in fields and ("insert_text" in fields) == (type in ("text_editor_20250728", "memory_20250818"))


@pytest.mark.parametrize("type", ["computer_20251124", "web_search_20250305", "bash", "code_execution_20250825"])
def test_other_typed_tools_are_refused_before_other_models(type: str) -> None:
    with pytest.raises(Invalid, match="only tools that the caller carries out"):
        request.read({"max_tokens": 9, "messages": HI, "tools": [{"type": type, "name": "x"}]}, MODEL)


def test_models_pass_the_client_s_strict_validation(caller: Caller) -> None:
    strict = anthropic.Anthropic(
        base_url=caller.served.site.url, api_key=caller.served.key, _strict_response_validation=True
    )
    assert strict.models.retrieve("scripted").lifecycle == "active"
    assert next(iter(strict.beta.models.list())).max_input_tokens == 3_400


def test_models_and_errors_have_the_form_of_the_api(caller: Caller) -> None:
    with_key = client(caller)
    model = next(iter(with_key.models.list()))
    assert (model.id, with_key.models.retrieve("scripted").type) == ("scripted", "model")
    for bad, kind, words in (
        ({"model": "gpt-9"}, anthropic.NotFoundError, "no model called 'gpt-9'"),
        ({"messages": []}, anthropic.BadRequestError, "at least one message"),
    ):
        with pytest.raises(kind, match=words) as caught:
            with_key.messages.create(**{"model": "scripted", "max_tokens": 100, "messages": HI} | bad)
        assert caught.value.body["type"] == "error"
    with pytest.raises(anthropic.AuthenticationError) as refused:
        anthropic.Anthropic(base_url=caller.served.site.url, api_key="cs_no", max_retries=0).models.list()
    assert refused.value.body["error"]["type"] == "authentication_error"
    bearer = anthropic.Anthropic(base_url=caller.served.site.url, auth_token=caller.served.key, max_retries=0)
    assert bearer.messages.create(model="scripted", max_tokens=100, messages=HI).content


def test_a_stream_that_breaks_off_ends_with_an_error_event(caller: Caller) -> None:
    caller.served.llm.enqueue("One two three four.", fault="half")
    body = {"model": "scripted", "max_tokens": 100, "messages": HI, "stream": True}
    said = caller.post(json.dumps(body), path="/messages").text
    assert "event: message_start" in said and "event: message_stop" not in said
    assert 'event: error\ndata: {"type": "error", "error": {"type": "api_error"' in said


BAD = {
    "max_tokens": [{"max_tokens": None}, {"max_tokens": "9"}, {"max_tokens": 0}],
    "messages": [{"messages": None}, {"messages": [3]}, {"messages": [{"role": "tool", "content": ""}]},
                 {"messages": [{"role": "user", "content": 3}]}, {"messages": [{"role": "user", "content": [3]}]},
                 {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
                 {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]}],
    "system": [{"system": 3}, {"system": [{"type": "image"}]}],
    "tools": [{"tools": 3}, {"tools": [3]}, {"tools": [{"type": "web_search_20250305", "name": "w"}]}, {"tools": [{}]}],
    "tool_choice": [{"tool_choice": 3}, {"tool_choice": {"type": "?"}}],
    "service_tier": [{"service_tier": "priority"}],
}  # fmt: skip


@pytest.mark.parametrize("field", BAD)
def test_a_bad_field_is_named(field: str) -> None:
    for bad in BAD[field]:
        with pytest.raises(Invalid) as caught:
            read(**bad)
        assert caught.value.detail["field"].startswith(field), bad


def test_what_is_wrong_below_the_read_fields_is_refused_too(caller: Caller) -> None:
    for bad in ({"temperature": []}, {"stream": 3}, {"stop_sequences": {"a": 1}}):
        body = {"model": "scripted", "max_tokens": 100, "messages": HI} | bad
        answer: httpx2.Response = caller.post(json.dumps(body), path="/messages")
        assert answer.status_code in (200, 400) and "Traceback" not in answer.text


async def test_thoughts_are_shown_to_who_asks_for_them() -> None:
    completion = {"choices": [{"message": {"content": "Bern.", "reasoning_content": "Hm."}, "finish_reason": "stop"}]}
    for body, kinds in (({}, ["text"]), ({"thinking": {"type": "enabled"}}, ["thinking", "text"])):
        message = Message.model_validate(await reply.whole(completion, CallerRequest({"model": "m"} | body)))
        assert [block.type for block in message.content] == kinds


TEXTS = st.text(max_size=20)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": st.just("c1"), "name": st.just("f"),
         "input": st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=3)}
    ),
)  # fmt: skip


@given(st.lists(BLOCKS, max_size=4))
def test_what_a_model_said_comes_back_as_it_was_read(blocks: list[dict[str, Any]]) -> None:
    """A message of the API, read as chat completions and told again, holds the same words and calls."""
    (said,) = read(messages=[{"role": "assistant", "content": blocks}])["messages"]
    completion = {"choices": [{"message": said, "finish_reason": "stop"}]}
    back = asyncio.run(reply.whole(completion, CallerRequest({"model": "m"})))["content"]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    assert [block for block in back if block["type"] == "tool_use"] == calls
    assert "".join(block["text"] for block in back if block["type"] == "text") == "\n\n".join(
        block["text"] for block in blocks if block["type"] == "text"
    )


def test_a_prompt_that_cannot_fit_is_refused_in_the_words_that_clients_look_for(caller: Caller) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > \d+ maximum"):
        client(caller).messages.create(
            model="scripted", max_tokens=100, messages=[{"role": "user", "content": "word " * 5_000}]
        )
    caller.served.llm.enqueue(status=400, code="context_length_exceeded", message="too long", times=2)
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        client(caller).messages.create(model="scripted", max_tokens=100, messages=HI)
