"""Forms of messages that strict servers require: short ids of calls, and no empty content."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conversations.llm.providers import corrections
from conversations.llm.providers.strict_messages import (
    NO_OUTPUT,
    NOTHING,
    with_contents,
    with_short_ids,
    with_single_calls,
)
from conversations.llm.thinking import thoughts

LONG = "call_" + "x" * 60


def called(id: str, content: str | None = "") -> list[dict[str, Any]]:
    call = {"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    return [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": content, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": ""},
    ]


@pytest.mark.parametrize(
    "complaint",
    [
        "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.",
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
)
def test_refused_ids_become_short_ones(complaint: str) -> None:
    body = {"messages": called(LONG)}
    assert corrections.named_in(complaint, body, status=400) == "short ids"
    sent = with_short_ids(body)
    call, result = sent["messages"][1]["tool_calls"][0]["id"], sent["messages"][2]["tool_call_id"]
    assert call == result and re.fullmatch("[a-zA-Z0-9]{9}", call)
    assert with_short_ids(sent) == sent
    assert corrections.named_in(complaint, sent, status=400) is None


def test_blocks_of_messages_get_short_ids_too() -> None:
    use = {"type": "tool_use", "id": "functions.ls:0", "name": "ls", "input": {"id": "functions.ls:0"}}
    result = {"type": "tool_result", "tool_use_id": "functions.ls:0", "content": [{"type": "text", "text": "a"}]}
    body = {"messages": [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]}
    (sent_use,), (sent_result,) = (message["content"] for message in with_short_ids(body)["messages"])
    assert sent_use["id"] == sent_result["tool_use_id"] != use["id"]
    assert sent_use["input"] == use["input"] and sent_result["content"] == result["content"]


@pytest.mark.parametrize(
    "complaint",
    [
        "ValidationException: messages: text content blocks must be non-empty",
        "messages.2: all messages must have non-empty content except for the optional final assistant message",
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object to it.",
    ],
)
def test_empty_contents_are_filled(complaint: str) -> None:
    empty: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": " "},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
    ]
    body = {"messages": [*called("c1"), *empty]}
    assert corrections.named_in(complaint, body, status=400) == "contents"
    sent = with_contents(body)
    assert [message["content"] for message in sent["messages"]] == [
        "List.", None, NO_OUTPUT, [{"type": "text", "text": "Hi."}], NOTHING, [{"type": "text", "text": NOTHING}],
    ]  # fmt: skip
    assert with_contents(sent) == sent
    assert corrections.named_in(complaint, sent, status=400) is None


@pytest.mark.parametrize(
    "complaint", ["tools: must not be empty", "Invalid 'messages[1].content': string too long.", "model is required"]
)
def test_other_refusals_change_nothing(complaint: str) -> None:
    assert corrections.named_in(complaint, {"messages": [{"role": "user", "content": "Hi."}]}, status=400) is None


@pytest.mark.parametrize("calls", [{"a": 1}, "x", [7], [None, {}], [{"id": 7, "extra_content": "x"}]])
def test_calls_of_any_form_fail_no_correction(calls: Any) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    body = {"messages": [message], "tools": [None, {"function": {"parameters": {"properties": [], "anyOf": 7}}}]}
    names = frozenset(one.name for one in corrections.CORRECTIONS)
    assert corrections.corrected(body, names)["messages"][0]["role"] == "assistant"
    assert thoughts.without(body)["messages"][0]["role"] == "assistant"


def test_every_correction_holds_when_it_is_applied_again() -> None:
    schema = {"$schema": "x", "type": "object", "properties": {"a": {"type": ["string", "null"]}}}
    tools = [{"type": "function", "function": {"name": "ls", "parameters": schema}}]
    names = frozenset(one.name for one in corrections.CORRECTIONS)
    once = corrections.corrected({"messages": called(LONG), "tools": tools}, names)
    assert corrections.corrected(once, names) == once
    assert corrections.corrected(once, frozenset()) == once


def calls_of(*ids: str) -> list[dict[str, Any]]:
    return [{"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for id in ids]


def results_of(*ids: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": id, "content": id} for id in ids]


@pytest.mark.parametrize(
    "complaint",
    [
        "This model only supports single tool-calls at once!",  # Llama 3.1 before vLLM
        "Jinja Exception: This model only supports single tool-calls at once!",  # before llama.cpp
        "Assistant messages with more than one tool call are not supported",
        "Parallel tool calls are not supported in messages",
        "Only one tool call per message is allowed",
    ],
)
def test_each_of_several_calls_gets_a_message_of_its_own_with_its_result(complaint: str) -> None:
    hi = {"role": "user", "content": "List."}
    several = {"role": "assistant", "content": "I list.", "reasoning": "so", "tool_calls": calls_of("a", "b", "c")}
    body = {"messages": [hi, several, *results_of("b", "a", "x", "c"), hi, *results_of("a")]}
    assert corrections.named_in(complaint, body, status=400) == "single calls"
    sent = corrections.corrected(body, frozenset({"single calls"}))["messages"]
    bare = {"role": "assistant", "content": ""}
    assert sent == [
        hi,
        several | {"tool_calls": calls_of("a")}, *results_of("a"),
        bare | {"tool_calls": calls_of("b")}, *results_of("b"),
        bare | {"tool_calls": calls_of("c")}, *results_of("c"),
        *results_of("x"), hi, *results_of("a"),
    ]  # fmt: skip
    assert with_single_calls({"messages": sent}) == {"messages": sent}
    assert corrections.named_in(complaint, {"messages": sent}, status=400) is None, "once"


def test_a_message_without_a_content_stays_without_one_where_its_calls_are_parted() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": calls_of("a", "b")}
    sent = with_single_calls({"messages": [message]})["messages"]
    assert [one["content"] for one in sent] == [None, None]
