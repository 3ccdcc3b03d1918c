"""A caller's model searches and reads the compacted part of its history, within one call, where the key asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.caller import Caller, Messages, checkpoint

LONG = 61
SEARCH = ("search_history", '{"query": "port 5007"}')
READ = ("read_history", '{"first": 8}')
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def searching(caller: Caller) -> Iterator[Caller]:
    caller.rows("UPDATE conversations_apikey SET searches_history = 1")
    yield caller
    caller.rows("UPDATE conversations_apikey SET searches_history = 0")


def offered(caller: Caller) -> list[str]:
    return [tool["function"]["name"] for tool in caller.served.llm.chats[-1].body.get("tools") or ()]


def compacted(caller: Caller) -> Messages:
    """A history a part of which is compacted, and the call that did it."""
    messages = caller.history(LONG)
    assert checkpoint(caller.ask(messages)) == "made"
    caller.served.llm.clear()
    return messages


def test_the_model_searches_and_reads_and_the_caller_gets_the_answer(searching: Caller) -> None:
    messages = compacted(searching)
    llm = searching.served.llm
    llm.enqueue("", calls=[SEARCH])
    llm.enqueue("", calls=[READ])
    llm.enqueue("It was 5007.")
    answer = searching.ask(messages, tools=[WEATHER]).parse()
    assert answer.choices[0].message.content == "It was 5007."
    assert not answer.choices[0].message.tool_calls
    assert len(llm.chats) == 3
    assert offered(searching) == ["weather", "search_history", "read_history"]
    found, read = (one["content"] for one in llm.chats[-1].body["messages"] if one["role"] == "tool")
    assert "#8" in found and "port 5007" in found
    assert f"Topic {searching.topic}, message 7: port 5007." in read
    row = searching.call(count=2)
    assert (row["status"], row["is_hit"]) == (200, 1)


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_it_works_by_every_protocol_streamed_and_not(searching: Caller, path: str, stream: bool) -> None:
    system, *messages = compacted(searching)
    searching.served.llm.enqueue("", calls=[SEARCH])
    searching.served.llm.enqueue("It was 5007.")
    said: dict[str, Any] = {"messages": [system, *messages]}
    if path == "/messages":
        said = {"messages": messages, "system": system["content"], "max_tokens": 100}
    if path == "/responses":
        said = {"input": messages, "instructions": system["content"]}
    answer = searching.post(json.dumps({"model": "scripted", "stream": stream} | said), path=path)
    assert answer.status_code == 200, answer.text
    assert "It was 5007." in answer.text
    assert "search_history" not in answer.text
    assert ("data: " in answer.text) is stream
    assert len(searching.served.llm.chats) == 2


def test_the_official_client_reads_the_stream(searching: Caller) -> None:
    messages = compacted(searching)
    searching.served.llm.enqueue("", calls=[SEARCH])
    searching.served.llm.enqueue("Look.", calls=[("weather", "{}")])
    create = searching.client.chat.completions.create
    stream = create(
        model="scripted", messages=messages, tools=[WEATHER], stream=True, stream_options={"include_usage": True}  # type: ignore[call-overload]
    )  # fmt: skip
    chunks = list(stream)
    (call,) = chunks[0].choices[0].delta.tool_calls
    assert (call.function.name, chunks[0].choices[0].finish_reason) == ("weather", "tool_calls")
    assert chunks[-1].usage.prompt_tokens > 1_000, "the tokens of what the caller sent"


def test_calls_of_the_caller_s_tools_go_to_the_caller_without_the_searches_beside_them(searching: Caller) -> None:
    messages = compacted(searching)
    searching.served.llm.enqueue("", calls=[SEARCH, ("weather", "{}")])
    answer = searching.ask(messages, tools=[WEATHER]).parse()
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["weather"]
    assert len(searching.served.llm.chats) == 1


def test_a_model_that_only_searches_has_to_answer(searching: Caller) -> None:
    messages = compacted(searching)
    searching.served.llm.enqueue("", calls=[SEARCH], times=4)
    searching.served.llm.enqueue("Enough.")
    assert searching.ask(messages).parse().choices[0].message.content == "Enough."
    assert len(searching.served.llm.chats) == 5
    assert offered(searching) == []
    searching.served.llm.clear()
    searching.served.llm.enqueue("", calls=[SEARCH], times=5)
    (choice,) = searching.ask(messages).parse().choices
    assert (choice.message.tool_calls, choice.finish_reason) == (None, "stop")


@pytest.mark.parametrize("calls", [[("search_history", "{")], [("read_history", '{"first": 100000}')]])
def test_a_search_that_cannot_be_done_says_so_to_the_model(searching: Caller, calls: list[tuple[str, str]]) -> None:
    messages = compacted(searching)
    searching.served.llm.enqueue("", calls=calls)
    searching.served.llm.enqueue("Then without.")
    assert searching.ask(messages).parse().choices[0].message.content == "Then without."
    assert searching.sent[-1]["content"].startswith("[error] ")


@pytest.mark.parametrize(
    "more",
    [
        {"tool_choice": "none", "tools": [WEATHER]},
        {"tool_choice": {"type": "function", "function": {"name": "weather"}}, "tools": [WEATHER]},
        {"n": 2},
        {"tools": [{"type": "function", "function": {"name": "search_history", "parameters": {"type": "object"}}}]},
    ],
)
def test_the_caller_s_own_choice_of_tools_holds(searching: Caller, more: dict[str, Any]) -> None:
    messages = compacted(searching)
    searching.ask(messages, **more)
    assert "read_history" not in offered(searching)


def test_nothing_is_offered_without_the_setting_or_a_summary(caller: Caller, searching: Caller) -> None:
    searching.ask(searching.history(3))
    assert offered(searching) == []
    caller.rows("UPDATE conversations_apikey SET searches_history = 0")
    messages = compacted(caller)
    caller.ask(messages)
    assert offered(caller) == []
