"""Characters arrive whole, or as U+FFFD, in every protocol, and every call gives its place back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.faults.serving import serving
from tests.gateway.caller import Caller
from tests.llm_server import Answer

PATHS = ("/chat/completions", "/messages", "/responses")
SAID = "Grüße 😀 und\u2028mehr."
HALVES = ["Gr\u00fc\u00dfe \ud83d", "\ude00 und\u2028", "mehr."]
LONE = ["a \ud83d", "b \ude00", " c"]
REPLACED = "a \ufffdb \ufffd c"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A site that lets a person have three calls at a time."""
    with serving(tmp_path_factory.mktemp("site"), MAX_CALLS_PER_USER="3") as site:
        yield Caller(site)


def streamed(*pieces: str) -> tuple[dict[str, Any], ...]:
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    return (*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def body(path: str, text: str = "Hello.", **more: Any) -> str:
    """A request; characters are escaped as JSON allows, so that half of one can be sent."""
    messages = [{"role": "user", "content": text}]
    chat: dict[str, Any] = {"messages": messages, "max_tokens": 100}
    named = {"input": text, "max_output_tokens": 100} if path == "/responses" else chat
    return json.dumps({"model": "scripted"} | named | more)


def said(answer: bytes) -> str:
    """All text of an answer, streamed or whole; it is valid UTF-8 with valid characters."""
    found = ""
    lines = answer.decode().split("\n")
    for line in [line[5:] for line in lines if line.startswith("data:")] or [answer.decode()]:
        if line.strip() == "[DONE]":
            continue
        event = json.loads(line)
        json.dumps(event, ensure_ascii=False).encode()
        if event.get("type") in (None, "message", "content_block_delta", "response.output_text.delta"):
            found += _text(event)
    return found


def _text(value: Any) -> str:
    if isinstance(value, dict):
        own = "".join(value[name] for name in ("content", "text", "delta") if isinstance(value.get(name), str))
        return own + "".join(_text(one) for one in value.values())
    return "".join(map(_text, value)) if isinstance(value, list) else ""


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("pieces", "whole"), [(HALVES, SAID), (LONE, REPLACED)], ids=["pair", "lone halves"])
def test_a_character_over_two_events_arrives_whole(
    caller: Caller, narrow: Caller, path: str, pieces: list[str], whole: str
) -> None:
    for one in (caller, narrow):
        for _ in range(4):  # more than the places of a person
            one.served.llm.enqueue(events=streamed(*pieces))
            answer = one.post(body(path, stream=True), path=path)
            assert answer.status_code == 200 and said(answer.content) == whole


@pytest.mark.parametrize("path", PATHS)
def test_half_of_a_character_in_a_whole_answer_is_replaced(caller: Caller, path: str) -> None:
    caller.served.llm.enqueue("half \ud83d here")
    assert said(caller.post(body(path), path=path).content) == "half \ufffd here"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_half_of_a_character_in_any_field_of_a_request_costs_no_place(
    caller: Caller, narrow: Caller, path: str, is_stream: bool
) -> None:
    fields: list[dict[str, Any]] = [
        {"user": "\ud800"}, {"metadata": {"\ud800": "\udfff"}}, {"model": "\ud800"}, {"stop": ["\ud800"]},
        {"tools": [{"type": "function", "name": "\ud800", "function": {"name": "\ud800"}}]}, {"\ud800": 1},
        {"system": "\ud800", "instructions": "\ud800"}, {"text": "\ud800 and a NUL \0"},
    ]  # fmt: skip
    for one in (caller, narrow):
        for more in fields:
            answer = one.post(body(path, **({"stream": is_stream} | more)), path=path)
            assert answer.status_code in (200, 400, 404), (more, answer.text)
            said(answer.content)
        assert one.post(body(path, stream=is_stream), path=path).status_code == 200


ODD: dict[str, Callable[[], dict[str, Any]]] = {
    "bytes that are not UTF-8": lambda: {"fault": "bytes"},
    "an event of 10 MB": lambda: {"text": "x" * 10_000_000, "piece": 10_000_000, "usage": None},
    "NUL": lambda: {"events": streamed("a\0b")},
    "half an answer": lambda: {"fault": "half"},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("odd", ODD)
def test_whatever_a_provider_sends_gives_the_place_back(narrow: Caller, path: str, odd: str) -> None:
    for _ in range(1 if "MB" in odd else 4):
        narrow.served.llm.enqueue(**ODD[odd]())
        answer = narrow.post(body(path, stream=True), path=path)
        assert answer.status_code in (200, 502), answer.text
        answer.content.decode()
    assert narrow.post(body(path, stream=True), path=path).status_code == 200


def test_scripted_answers_hold_half_of_a_character() -> None:
    assert Answer(events=streamed(*HALVES)).events[0]["choices"][0]["delta"]["content"][-1] == "\ud83d"
