"""Requests of chat completions in the forms of other protocols, as Cursor sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conversations.gateway.chat_completions.reply import meant_answer, with_meant_calls
from conversations.gateway.chat_completions.request import in_own_form
from tests.gateway.caller import Caller

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": SCHEMA}}
OF_RESPONSES = {"type": "function", "name": "read", "description": "Read.", "parameters": SCHEMA, "strict": None}
OF_MESSAGES = {"name": "read", "description": "Read.", "input_schema": SCHEMA}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
PATCH = {"type": "custom", "name": "patch", "description": "Patch.", "format": GRAMMAR}
HI = {"role": "user", "content": "Hi."}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize("tool", [OF_RESPONSES, OF_MESSAGES, OF_MESSAGES | {"type": "custom"}])
def test_tools_of_other_protocols_are_functions(tool: dict[str, Any]) -> None:
    assert in_own_form({"messages": [], "tools": [FUNCTION, tool]}, 0)["tools"] == [FUNCTION, FUNCTION]


def test_a_custom_tool_of_responses_has_its_inner_object() -> None:
    custom = {name: PATCH[name] for name in ("name", "description", "format")}
    assert in_own_form({"tools": [PATCH]}, 0)["tools"] == [{"type": "custom", "custom": custom}]


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any", "disable_parallel_tool_use": True}, "required"),
        ({"type": "tool", "name": "read"}, {"type": "function", "function": {"name": "read"}}),
        ({"type": "function", "name": "read"}, {"type": "function", "function": {"name": "read"}}),
        ("required", "required"),
    ],
)
def test_choices_of_other_protocols_are_read(choice: Any, meant: Any) -> None:
    assert in_own_form({"tool_choice": choice}, 0)["tool_choice"] == meant


def test_a_valid_request_is_unchanged() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "a"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    named: Any = {"type": "function", "function": {"name": "read"}}
    body = {"messages": messages, "tools": [FUNCTION, {"type": "custom", "custom": {"name": "patch"}}, {}, 7]}
    for given in (body, body | {"tool_choice": named}, {"messages": "x", "tools": "x", "tool_choice": 7}, {}):
        assert in_own_form(given, 0) is given


ODD: list[Any] = [None, True, 7, "x", [], {}, [7], ["x"], [[]], {"type": []}, [{"type": ["x"], "name": ["y"]}]]


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("field", ["messages", "input", "tools", "tool_choice", "instructions", "text", "reasoning"])
def test_odd_types_are_refused_and_fail_nothing(caller: Caller, field: str, odd: Any) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "read", "input": odd}
    for body in (
        {"messages": [HI], "tools": [PATCH]} | {field: odd},
        {"input": "Hi.", "tools": [OF_MESSAGES]} | {field: odd},
        {
            "messages": [
                HI,
                {"role": "assistant", "content": [block], "tool_calls": odd},
                {"role": odd, "content": [block]},
            ]
        },
    ):
        assert caller.post(json.dumps({"model": "scripted"} | body)).status_code in (200, 400)


def test_blocks_of_messages_are_calls_and_results(caller: Caller) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    messages = [
        {"role": "user", "content": ["Look."]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}]},
                {"type": "input_text", "text": "Go on."},
                image,
            ],
        },
    ]
    answer = caller.ask(messages, extra_body={"tools": [OF_MESSAGES]})
    assert answer.parse().choices[0].message.content == "All right."
    first, called, result, said = caller.sent
    assert first == {"role": "user", "content": [{"type": "text", "text": "Look."}]}
    (call,) = called["tool_calls"]
    assert (call["id"], json.loads(call["function"]["arguments"])) == ("t1", {"path": "a"})
    assert called["content"] == [{"type": "text", "text": "I look."}]
    assert result == {"role": "tool", "tool_call_id": "t1", "content": "found"}
    assert [part["type"] for part in said["content"]] == ["text", "image_url"]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_a_request_in_the_form_of_responses_is_answered_as_a_chat_completion(caller: Caller, is_stream: bool) -> None:
    """With a custom tool, which the model's server knows as a function."""
    caller.served.llm.enqueue("", calls=[("patch", json.dumps({"input": "*** Begin"})), ("read", '{"path": "a"}')])
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Patch it."}]},
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** First"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Failed."},
        {"role": "user", "content": "Again."},
    ]
    body = {
        "model": "scripted", "input": items, "instructions": "Be short.", "tools": [PATCH, OF_RESPONSES],
        "reasoning": {"effort": "low", "summary": "auto"}, "store": False, "include": ["x"], "stream": is_stream,
        "text": {"verbosity": "low"}, "prompt_cache_retention": "24h",
    }  # fmt: skip
    answer = caller.post(json.dumps(body))
    assert answer.status_code == 200, answer.text
    assert "x-chatsite-left-out" not in answer.headers
    assert [one["role"] for one in caller.sent] == ["system", "user", "assistant", "tool", "user"]
    sent = caller.served.llm.last_request.body
    assert [tool["type"] for tool in sent["tools"]] == ["function", "function"]
    assert 'start: "a"' in sent["tools"][0]["function"]["description"]
    if is_stream:
        chunks = [json.loads(line[5:]) for line in answer.text.split("\n") if line.startswith("data: {")]
        said = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        calls = [call for one in said for call in one["delta"].get("tool_calls") or ()]
        assert [call["index"] for call in calls] == [0, 1]
        assert said[-1]["finish_reason"] == "tool_calls"
    else:
        (choice,) = answer.json()["choices"]
        calls = choice["message"]["tool_calls"]
        assert choice["finish_reason"] == "tool_calls"
    patch, read = calls
    assert (patch["type"], patch["custom"]) == ("custom", {"name": "patch", "input": "*** Begin"})
    assert (read["type"], json.loads(read["function"]["arguments"])) == ("function", {"path": "a"})


async def test_a_custom_call_that_is_no_object_is_its_own_input() -> None:
    function = {"name": "patch", "arguments": "*** Begin"}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    tools: Any = {"patch": {}}

    async def stream() -> Any:
        for choice in ({"delta": {"tool_calls": [call]}}, {"delta": {}, "finish_reason": "tool_calls"}):
            yield f"data: {json.dumps({'choices': [choice]})}\n\n"

    events = [event async for event in with_meant_calls(stream(), tools, {"patch"})]
    (streamed,) = json.loads(events[0][5:])["choices"][0]["delta"]["tool_calls"]
    completion = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    (whole,) = json.loads(meant_answer(json.dumps(completion).encode(), tools, {"patch"}))["choices"][0]["message"][
        "tool_calls"
    ]
    assert streamed["custom"] == whole["custom"] == {"name": "patch", "input": "*** Begin"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": []}, "input"),
        ({"input": "Hi.", "reasoning": {"effort": "much"}}, "reasoning.effort"),
        ({"input": "Hi.", "previous_response_id": "resp_1"}, "previous_response_id"),
        (
            {"messages": [HI, {"role": "user", "content": ["x", {"type": "tool_result", "content": "x"}]}]},
            "messages[1].content",
        ),
    ],
)
def test_a_request_that_cannot_be_read_names_its_field(caller: Caller, body: dict[str, Any], field: str) -> None:
    answer = caller.post(json.dumps({"model": "scripted"} | body))
    assert (answer.status_code, answer.json()["error"]["param"].startswith(field)) == (400, True), answer.text
