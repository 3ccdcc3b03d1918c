"""Our prompt as Anthropic's messages API takes it: system texts apart, two roles in turn, contents as blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, takewhile
from typing import Any

from conversations.llm.request import Prompt
from conversations.llm.tool_call_chunks import object_of
from conversations.llm.tool_naming import fitting

Block = dict[str, Any]

OPENING = "[The conversation goes on.]"
"""Said for the person where a reply comes first: the API wants the first message to be theirs."""


def blocks_of(prompt: Prompt) -> tuple[list[Block], list[dict[str, Any]]]:
    """The system texts that a prompt begins with, and its messages; what is empty is left out, as the API wants it.

    Later system messages, and results whose call is not in the prompt, become text of the user.
    """
    leading = list(takewhile(lambda message: message["role"] == "system", prompt.messages))
    system = [block for message in leading for block in _said(message)]
    messages: list[dict[str, Any]] = []
    for role, block in _spoken(prompt.messages[len(leading) :]):
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].append(block)
        else:
            messages.append({"role": role, "content": [block]})
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    return system, messages


def tools_of(prompt: Prompt) -> list[dict[str, Any]]:
    """The tools that a prompt offers. Where it offers none, those that its calls name, by their names alone: the API
    takes no call of what is not defined."""
    if prompt.tools:
        return [
            {"name": fitting(one.name), "description": one.description, "input_schema": json.loads(one.parameters)}
            for one in prompt.tools
        ]
    called = (call["function"]["name"] for message in prompt.messages for call in message.get("tool_calls") or ())
    names = dict.fromkeys(map(fitting, called))
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _spoken(messages: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, Block]]:
    """Role and block, one by one. Calls are numbered anew: the API takes no id twice, and not every letter in it."""
    numbers = count(1)
    waiting: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool" and message["tool_call_id"] in waiting:
            yield "user", _result(waiting.pop(message["tool_call_id"]), message["content"])
            continue
        yield from _unanswered(waiting)
        for block in _said(message):
            yield "assistant" if message["role"] == "assistant" else "user", block
        for call in message.get("tool_calls") or ():
            number = waiting[call["id"]] = f"call_{next(numbers)}"
            yield "assistant", _use(number, call["function"])
    yield from _unanswered(waiting)


def _unanswered(waiting: dict[str, str]) -> Iterator[tuple[str, Block]]:
    """Empty results: the API wants one for each call, right after it."""
    for number in waiting.values():
        yield "user", _result(number, "")
    waiting.clear()


def _said(message: dict[str, Any]) -> Iterator[Block]:
    """The words of a message where it has any, and its images."""
    content = message["content"] or ""
    parts: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part["type"] == "image_url":
            yield _image(part["image_url"]["url"])
        elif part["text"].strip():
            yield {"type": "text", "text": part["text"]}


def _image(url: str) -> Block:
    """Of a `data:` address with base64."""
    media_type, data = url.removeprefix("data:").split(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _use(number: str, function: dict[str, str]) -> Block:
    name, input = fitting(function["name"]), object_of(function["arguments"])
    return {"type": "tool_use", "id": number, "name": name, "input": input}


def _result(number: str, content: str) -> Block:
    said = {"content": content} if content.strip() else {}
    return {"type": "tool_result", "tool_use_id": number, **said}
