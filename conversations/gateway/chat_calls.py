"""Gives callers of chat completions the calls that a model means: written as text, or by another form of a name.

All else of an answer passes unchanged, byte by byte. The readers of the other protocols do the same (`chunks`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from conversations.gateway.chunks import chunk_in
from conversations.gateway.protocol import Events, Json
from conversations.gateway.provider_stream import DONE
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.providers.written_calls import WrittenCalls
from conversations.llm.providers.written_forms import Schemas, WrittenCall

WHOLE = ("stop", "tool_calls")
"""The finish reasons of a reply that was not cut off."""


async def with_meant_calls(events: Events, tools: Schemas) -> Events:
    """The events of a stream with one answer, for a request that offers these tools."""
    reading = _Stream(tools)
    async with aclosing(events):
        async for event in events:
            for passed in reading.take(event):
                yield passed


def meant_answer(content: bytes, tools: Schemas) -> bytes:
    """A whole chat completion with one answer, for a request that offers these tools."""
    completion = json.loads(content)
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return content
    if not choice.get("finish_reason"):
        choice = choice | {"finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
        content = _changed(completion, choice)
    if message.get("tool_calls"):
        meant = _with_names(message, tools)
        return content if meant is message else _changed(completion, choice | {"message": meant})
    if not isinstance(message.get("content"), str) or choice["finish_reason"] not in WHOLE:
        return content
    written = WrittenCalls(tools)
    text = written.take(message["content"])
    rest, calls = written.rest(is_whole=True)
    if not calls:
        return content
    meant = message | {"content": text + rest or None, "tool_calls": [_call(call) for call in calls]}
    return _changed(completion, choice | {"message": meant, "finish_reason": "tool_calls"})


class _Stream:
    """The reading of a stream.

    `_has_calls`: the server has recognised calls itself, so all text is text. `_open`: the fields of the latest chunk
    while the answer has no finish reason, as some servers end a stream without one.
    """

    def __init__(self, tools: Schemas) -> None:
        self._tools = tools
        self._written = WrittenCalls(tools)
        self._has_calls = False
        self._open: Json = {}

    def take(self, event: str) -> Iterator[str]:
        """The events that stand for one of the stream."""
        chunk = chunk_in(event)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(delta, dict):
            if self._open and event.removeprefix("data:").strip() == DONE:
                yield from self._finish()
            yield event
            return
        self._open = {} if choice.get("finish_reason") else _without_usage(chunk)
        reason, content = choice.get("finish_reason"), delta.get("content")
        if delta.get("tool_calls") and not self._has_calls:
            self._has_calls = True
            yield from self._rest(chunk, choice, is_whole=False)
        meant = _with_names(delta, self._tools)
        text = self._written.take(content) if isinstance(content, str) else content
        if text != content:
            meant = meant | {"content": text}
        if reason:
            yield from self._ended(event, chunk, choice, meant, delta)
        elif meant is delta:
            yield event
        elif text or meant.keys() - {"content"} or meant.get("role"):
            yield _event(chunk, choice | {"delta": meant})

    def _ended(self, event: str, chunk: Json, choice: Json, meant: Json, delta: Json) -> Iterator[str]:
        begun = _without_usage(chunk)  # it comes once, with the end
        if meant is not delta:
            yield _event(begun, choice | {"delta": meant, "finish_reason": None})
        further = list(self._rest(begun, choice, is_whole=choice["finish_reason"] in WHOLE))
        yield from further
        if meant is delta and not further:
            yield event
            return
        reason = "tool_calls" if self._has_calls and choice["finish_reason"] in WHOLE else choice["finish_reason"]
        yield _event(chunk, choice | {"delta": {}, "finish_reason": reason})

    def _finish(self) -> Iterator[str]:
        choice: Json = {"index": 0}
        yield from self._rest(self._open, choice, is_whole=True)
        reason = "tool_calls" if self._has_calls else "stop"
        yield _event(self._open, choice | {"delta": {}, "finish_reason": reason})

    def _rest(self, chunk: Json, choice: Json, *, is_whole: bool) -> Iterator[str]:
        """The held text, as text or as calls."""
        text, calls = self._written.rest(is_whole=is_whole and not self._has_calls)
        if text:
            yield _event(chunk, choice | {"delta": {"content": text}, "finish_reason": None})
        for place, call in enumerate(calls):
            self._has_calls = True
            delta = {"tool_calls": [{"index": place} | _call(call)]}
            yield _event(chunk, choice | {"delta": delta, "finish_reason": None})


def _without_usage(chunk: Json) -> Json:
    return {name: value for name, value in chunk.items() if name != "usage"}


def _with_names(said: Json, tools: Schemas) -> Json:
    """A message or a delta with the offered names of its calls; the same object if it has them already."""
    calls = said.get("tool_calls")
    if not isinstance(calls, list):
        return said
    named = [_named(call, tools) for call in calls]
    is_same = all(one is call for one, call in zip(named, calls, strict=True))
    return said if is_same else said | {"tool_calls": named}


def _named(call: Any, tools: Schemas) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(name := function.get("name"), str) or not name:
        return call
    if (meant := offered_name(name, tools)) == name:
        return call
    return call | {"function": function | {"name": meant}}


def _call(call: WrittenCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call_{uuid4().hex}", "type": "function", "function": function}


def _changed(completion: Json, choice: Json) -> bytes:
    return json.dumps(completion | {"choices": [choice, *completion["choices"][1:]]}, ensure_ascii=False).encode()


def _event(chunk: Json, choice: Json) -> str:
    return f"data: {json.dumps(chunk | {'choices': [choice]}, ensure_ascii=False)}\n\n"
