"""Converts a prompt to Anthropic's messages API: separate system texts, alternating roles, content blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from typing import Any

from conversations.llm.providers.tool_call_chunks import object_of
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.request import Prompt
from conversations.llm.thinking.thoughts import BLOCKS

Block = dict[str, Any]

CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
"""The mark of a block up to which the provider is asked to keep the request for later ones: at most four of them."""
OPENING = "[The conversation goes on.]"
"""A user message inserted before a history that begins with a reply: the API requires a user message first."""


def blocks_of(prompt: Prompt, *, recurs: bool = False, model: str = "") -> tuple[list[Block], list[dict[str, Any]]]:
    """(system texts at the prompt's beginning, messages); empty texts are omitted, as the API requires.

    Later system messages, and results whose call is not in the prompt, become text of the user. With `recurs`, the
    last blocks of what later requests have too are marked for the provider's cache: of the first system text, which
    stays with the tools before it when the summary after it changes, of all system texts, of the messages that later
    turns begin with, and, where tools may be called, of all messages, which the requests of the turn's next rounds
    begin with. Thoughts of `model` stand where they stood.
    """
    leading = list(takewhile(lambda message: message["role"] == "system", prompt.messages))
    system = [block for message in leading for block in _content_blocks(message)]
    rest = prompt.messages[len(leading) :]
    places = range(len(leading), len(prompt.messages))
    thoughts = [prompt.thoughts_at(place, model).get("blocks", ()) for place in places]
    blocks = [*_blocks(rest, thoughts)]
    if recurs:
        _mark(system[:1])
        _mark(system)
        _mark([block for at, _, block in blocks if at < prompt.recurring - len(leading)])
        _mark([block for _, _, block in blocks] if prompt.tools else [])
    messages: list[dict[str, Any]] = []
    for _, role, block in blocks:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].append(block)
        else:
            messages.append({"role": role, "content": [block]})
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    return system, messages


def tools_of(prompt: Prompt) -> list[dict[str, Any]]:
    """The definitions of the tools that a prompt offers.

    If it offers none, bare definitions of the tools that its calls name: the API refuses calls of undefined tools.
    """
    if prompt.tools:
        return [
            {
                "name": fitting_name(tool.name),
                "description": tool.description,
                "input_schema": json.loads(tool.parameters),
            }
            for tool in prompt.tools
        ]
    called = (call["function"]["name"] for message in prompt.messages for call in message.get("tool_calls") or ())
    names = dict.fromkeys(map(fitting_name, called))
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _mark(blocks: list[Block]) -> None:
    """Mark the last block that can be: thoughts cannot."""
    if markable := [block for block in blocks if block["type"] not in BLOCKS]:
        markable[-1].update(CACHE_MARK)


def _blocks(
    messages: tuple[dict[str, Any], ...], thoughts: Sequence[Sequence[Block]]
) -> Iterator[tuple[int, str, Block]]:
    """(place of its message, role, block) of each block.

    Calls get new ids: the API accepts no id twice and not every character in ids.
    """
    numbers = count(1)
    waiting: dict[str, str] = {}
    for at, message in enumerate(messages):
        if message["role"] == "tool" and message["tool_call_id"] in waiting:
            yield at, "user", _result(waiting.pop(message["tool_call_id"]), message["content"])
            continue
        for block in _unanswered(waiting):
            yield at - 1, "user", block
        for block in _with_thoughts([*_content_blocks(message)], thoughts[at]):
            yield at, "assistant" if message["role"] == "assistant" else "user", block
        for call in message.get("tool_calls") or ():
            number = waiting[call["id"]] = f"call_{next(numbers)}"
            yield at, "assistant", _use(number, call["function"])
    for block in _unanswered(waiting):
        yield len(messages) - 1, "user", block


def _with_thoughts(content: list[Block], blocks: Sequence[Block]) -> list[Block]:
    """A reply's text with the thoughts in their places; before all of it, if the text is not as long as it was."""
    thoughts = [block for block in blocks if block["type"] in BLOCKS]
    text = content[0]["text"] if content and content[0]["type"] == "text" else ""
    if not thoughts or sum(block.get("characters", 0) for block in blocks) != len(text):
        return [*thoughts, *content]
    placed: list[Block] = []
    for block in blocks:
        if block["type"] in BLOCKS:
            placed.append(block)
        elif (said := text[: block["characters"]]).strip():
            placed.append({"type": "text", "text": said})
        text = text[block.get("characters", 0) :]
    return placed


def _unanswered(waiting: dict[str, str]) -> Iterator[Block]:
    """Empty results for the calls without one: the API requires a result right after each call."""
    for number in waiting.values():
        yield _result(number, "")
    waiting.clear()


def _content_blocks(message: dict[str, Any]) -> Iterator[Block]:
    """The text of a message, if it has any, and its images."""
    content = message["content"] or ""
    parts: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part["type"] == "image_url":
            yield _image(part["image_url"]["url"])
        elif part["text"].strip():
            yield {"type": "text", "text": part["text"]}


def _image(url: str) -> Block:
    """The block of an image given as a `data:` URL with base64."""
    media_type, data = url.removeprefix("data:").split(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _use(number: str, function: dict[str, str]) -> Block:
    name, input = fitting_name(function["name"]), object_of(function["arguments"])
    return {"type": "tool_use", "id": number, "name": name, "input": input}


def _result(number: str, content: str) -> Block:
    body = {"content": content} if content.strip() else {}
    return {"type": "tool_result", "tool_use_id": number, **body}
