"""Makes a message of Anthropic's form out of a chat completion, and its events out of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from conversations.errors import Refused
from conversations.gateway.anthropic.request import ThreadUnsupported, wants_thoughts
from conversations.gateway.chunks import PartDelta, arguments_of, event
from conversations.gateway.protocol import CallerRequest, Events, Json
from conversations.gateway.sealed_thoughts import sealed
from conversations.llm.providers.reported_usage import tokens_of

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
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def error(refusal: Refused) -> Json:
    """The error as Anthropic's clients read it: they make room themselves after "prompt is too long"."""
    kind = ERRORS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
    message, figures = refusal.message, refusal.detail
    if refusal.code == "context_too_large":
        kind = "invalid_request_error"
        size = f": {figures['total']} tokens > {figures['budget']} maximum" if "total" in figures else ""
        message = f"prompt is too long{size}. {message}"
    said: Json = {"type": kind, "message": message, "code": refusal.code}
    if isinstance(refusal, ThreadUnsupported):
        said["details"] = {"error_code": refusal.code, "unsupported": []}
    return {"type": "error", "error": said}


def broken(error: Json) -> str:
    """The error as the last event of a stream."""
    return event("error", error)


async def whole(completion: Json, asked: CallerRequest) -> Json:
    """The message of a chat completion."""
    reading, content = asked.reading(), list[Json]()
    for piece in reading.whole(completion):
        if piece.kind == "thought" and wants_thoughts(asked.body):
            signature = sealed(reading.thoughts, asked.model)
            content.append({"type": "thinking", "thinking": piece.text, "signature": signature})
        elif piece.kind == "text":
            content.append({"type": "text", "text": piece.text})
        elif call := piece.call:
            content.append(_use(call.id, call.name, arguments_of(piece.text)))
    await asked.hold_thoughts(reading)
    reason = _stop(reading.reason, calls=reading.has_calls)
    return _message(asked, content, reason, usage_of(reading.usage, asked))


def usage_of(usage: object, asked: CallerRequest) -> Json:
    """The figures of a provider's usage; after a compaction, the input is the caller's own history."""
    spent = tokens_of(usage)
    prompt, cached = (spent.prompt or asked.counted, spent.cached) if asked.tokens is None else (asked.tokens, 0)
    return {
        "input_tokens": max(0, prompt - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": spent.completion,
    }


async def events(chunks: Events, asked: CallerRequest) -> Events:
    """The events of a message that is streamed, as the chunks of a chat completion come."""
    reading = asked.reading()
    writing, with_thoughts = _Writing(lambda: sealed(reading.thoughts, asked.model)), wants_thoughts(asked.body)
    yield event("message_start", {"type": "message_start", "message": _message(asked, [], None, usage_of({}, asked))})
    async with aclosing(reading.pieces(chunks)) as pieces:
        async for piece in pieces:
            if piece.kind != "thought" or with_thoughts:
                for written in writing.take(piece):
                    yield written
    for written in writing.close():
        yield written
    await asked.hold_thoughts(reading)
    delta = {"stop_reason": _stop(reading.reason, calls=reading.has_calls), "stop_sequence": None}
    usage = usage_of(reading.usage, asked)
    yield event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
    yield event("message_stop", {"type": "message_stop"})


class _Writing:
    """The blocks of a message so far; one is open at a time. `seal` gives the signature of the thoughts so far."""

    def __init__(self, seal: Callable[[], str]) -> None:
        self._seal = seal
        self._open = ""
        self._number = -1

    def take(self, piece: PartDelta) -> Iterator[str]:
        """The events of a piece."""
        if piece.kind == "thought":
            yield from self._go_on("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": piece.text})
        elif piece.kind == "text":
            yield from self._go_on("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": piece.text})
        elif call := piece.call:
            yield from self._go_on(f"call {call.index}", _use(call.id, call.name, {}))
            if piece.text:
                yield self._delta({"type": "input_json_delta", "partial_json": piece.text})

    def _go_on(self, kind: str, block: Json) -> Iterator[str]:
        """Begin a block, and end the one before, unless it is the open one."""
        if kind == self._open:
            return
        yield from self.close()
        self._open, self._number = kind, self._number + 1
        start = {"type": "content_block_start", "index": self._number, "content_block": block}
        yield event("content_block_start", start)

    def close(self) -> Iterator[str]:
        if self._open == "thinking" and (signature := self._seal()):
            yield self._delta({"type": "signature_delta", "signature": signature})
        if self._open:
            yield event("content_block_stop", {"type": "content_block_stop", "index": self._number})
        self._open = ""

    def _delta(self, delta: Json) -> str:
        return event("content_block_delta", {"type": "content_block_delta", "index": self._number, "delta": delta})


def _message(asked: CallerRequest, content: list[Json], reason: str | None, usage: Json) -> Json:
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
    if reason in ("tool_calls", "function_call") and not calls:
        return "end_turn"  # a caller would wait for the result of no call
    return "tool_use" if calls and reason in (None, "stop") else STOPS.get(str(reason), "end_turn")


def _use(id: str, name: str, given: Json) -> Json:
    return {"type": "tool_use", "id": id or f"toolu_{uuid4().hex}", "name": name, "input": given}
