"""Makes a message of Anthropic's form out of a chat completion, and its events out of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from conversations.errors import Refused
from conversations.gateway.anthropic.request import wants_thoughts
from conversations.gateway.protocol import Asked, Events, Json

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
THOUGHTS = ("reasoning_content", "reasoning")
"""The fields in which servers of chat completions send what a model thinks."""


def error(refusal: Refused) -> Json:
    """The error as Anthropic's clients read it."""
    kind = ERRORS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": refusal.message, "code": refusal.code}}


def broken(error: Json) -> str:
    return _event("error", error)


def whole(completion: Json, asked: Asked) -> Json:
    """The message of a chat completion."""
    choice: Json = next(iter(completion.get("choices") or ()), {})
    said = choice.get("message") or {}
    content: list[Json] = []
    if wants_thoughts(asked.body) and (thoughts := _thoughts(said)):
        content.append({"type": "thinking", "thinking": thoughts, "signature": ""})
    if text := said.get("content") or said.get("refusal"):
        content.append({"type": "text", "text": text})
    content += [_use(call) for call in said.get("tool_calls") or ()]
    reason = _stop(choice.get("finish_reason"), calls=bool(said.get("tool_calls")))
    return _message(asked, content, reason, usage_of(completion.get("usage"), asked))


def usage_of(usage: object, asked: Asked) -> Json:
    """The figures of a provider's usage; where a summary stood for a part, the input is what the caller sent."""
    figures = usage if isinstance(usage, dict) else {}
    cached = int((figures.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    prompt = int(figures.get("prompt_tokens") or 0)
    if asked.tokens is not None:
        prompt, cached = asked.tokens, 0
    return {
        "input_tokens": max(0, prompt - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": int(figures.get("completion_tokens") or 0),
    }


async def events(chunks: Events, asked: Asked) -> Events:
    """The events of a message that is streamed, as the chunks of a chat completion come."""
    writing = _Writing(asked)
    yield _event("message_start", {"type": "message_start", "message": _message(asked, [], None, usage_of({}, asked))})
    async with aclosing(chunks):
        async for text in chunks:
            if chunk := _data(text):
                for event in writing.take(chunk):
                    yield event
    for event in writing.end():
        yield event


class _Writing:
    """The events of a message so far. Blocks come one after another: the first call goes out as it comes, the arguments
    of calls beside it once that has ended, as the chunks of several calls may come in turn.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._with_thoughts = wants_thoughts(asked.body)
        self._open = ""
        self._number = -1
        self._calls: dict[int, Json] = {}
        self._reason: str | None = None
        self._usage: object = None

    def take(self, chunk: Json) -> Iterator[str]:
        self._usage = chunk.get("usage") or self._usage
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            self._reason = choice.get("finish_reason") or self._reason
            if self._with_thoughts and (thoughts := _thoughts(delta)):
                yield from self._go_on("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._delta({"type": "thinking_delta", "thinking": thoughts})
            if text := delta.get("content") or delta.get("refusal"):
                yield from self._go_on("text", {"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": text})
            for call in delta.get("tool_calls") or ():
                self._gather(call)
        yield from self._go_on_calling()

    def end(self) -> Iterator[str]:
        """The calls that are left, and the end."""
        for index in sorted(self._calls):
            yield from self._go_on_calling(index)
        yield from self._close()
        delta = {"stop_reason": _stop(self._reason, calls=bool(self._calls)), "stop_sequence": None}
        usage = usage_of(self._usage, self._asked)
        yield _event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
        yield _event("message_stop", {"type": "message_stop"})

    def _gather(self, delta: Json) -> None:
        new = {"id": "", "name": "", "arguments": ""}
        call, given = self._calls.setdefault(int(delta.get("index") or 0), new), delta.get("function") or {}
        call["id"] = call["id"] or delta.get("id") or ""
        call["name"] = call["name"] or given.get("name") or ""
        call["arguments"] += given.get("arguments") or ""

    def _go_on_calling(self, index: int | None = None) -> Iterator[str]:
        """What has come of a call's arguments, the first one's without an index."""
        index = min(self._calls, default=None) if index is None else index
        if index is None or not self._calls[index]["name"]:
            return
        call = self._calls[index]
        yield from self._go_on(f"call {index}", _use({"id": call["id"], "function": {"name": call["name"]}}))
        if arguments := call["arguments"]:
            call["arguments"] = ""
            yield self._delta({"type": "input_json_delta", "partial_json": arguments})

    def _go_on(self, kind: str, block: Json) -> Iterator[str]:
        """Begin a block, and end the one before, unless it is the open one."""
        if kind == self._open:
            return
        yield from self._close()
        self._open, self._number = kind, self._number + 1
        start = {"type": "content_block_start", "index": self._number, "content_block": block}
        yield _event("content_block_start", start)

    def _close(self) -> Iterator[str]:
        if self._open:
            yield _event("content_block_stop", {"type": "content_block_stop", "index": self._number})
        self._open = ""

    def _delta(self, delta: Json) -> str:
        return _event("content_block_delta", {"type": "content_block_delta", "index": self._number, "delta": delta})


def _message(asked: Asked, content: list[Json], reason: str | None, usage: Json) -> Json:
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": asked.body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop(reason: Any, *, calls: bool) -> str:
    return "tool_use" if calls and reason in (None, "stop") else STOPS.get(str(reason), "end_turn")


def _use(call: Json) -> Json:
    function = call.get("function") or {}
    try:
        given = json.loads(function.get("arguments") or "{}")
    except ValueError:
        given = function["arguments"]
    held = given if isinstance(given, dict) else {"arguments": given}
    id = str(call.get("id") or f"toolu_{uuid4().hex}")
    return {"type": "tool_use", "id": id, "name": str(function.get("name") or ""), "input": held}


def _thoughts(said: Json) -> str:
    return next((said[name] for name in THOUGHTS if isinstance(said.get(name), str)), "")


def _data(event: str) -> Json | None:
    """The chunk in an event; None for others."""
    data = "".join(line[5:].lstrip() for line in event.splitlines() if line.startswith("data:"))
    try:
        chunk = json.loads(data)
    except ValueError:
        return None
    return chunk if isinstance(chunk, dict) else None


def _event(name: str, data: Json) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
