"""Reads the stream of a chat completion as pieces of its parts, one part after another: thoughts, text, and calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from compression.core.tokens import count_tokens

Json = dict[str, Any]
THOUGHTS = ("reasoning_content", "reasoning")
"""The fields in which servers of chat completions send what a model thinks."""


@dataclass(slots=True)
class ToolCall:
    """A call of a tool as it comes; `waiting` are the arguments that no piece has had yet."""

    index: int
    id: str = ""
    name: str = ""
    waiting: list[str] = field(default_factory=list)


class Piece(NamedTuple):
    """More of a part: of the thoughts, of the text, or of a `call`."""

    kind: Literal["thought", "text", "call"]
    text: str
    call: ToolCall | None = None


@dataclass(slots=True)
class Reading:
    """A completion so far. The first call goes out as it comes, those beside it once that has ended: their chunks may
    come in turn. What is said after a call has begun comes last. Where the provider reports no usage, the tokens of the
    pieces are our own count.
    """

    reason: str | None = None
    usage: Json = field(default_factory=dict)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)

    async def pieces(self, chunks: AsyncGenerator[str]) -> AsyncGenerator[Piece]:
        """The pieces of a stream's chunks, each the text of an event."""
        written: list[str] = []
        async with aclosing(self._pieces(chunks)) as pieces:
            async for piece in pieces:
                written.append(piece.text)
                yield piece
        if not self.usage.get("completion_tokens"):
            counted = await asyncio.to_thread(count_tokens, "".join(written))  # megabytes take seconds
            self.usage = self.usage | {"completion_tokens": counted}

    async def _pieces(self, chunks: AsyncGenerator[str]) -> AsyncGenerator[Piece]:
        async with aclosing(chunks):
            async for text in chunks:
                for piece in self._taken(_chunk(text)):
                    yield piece
        for index in sorted(self.calls):
            for piece in self._of_call(index):
                yield piece
        if self.late:
            yield Piece("text", "".join(self.late))

    def _taken(self, chunk: Json) -> Iterator[Piece]:
        self.usage = chunk.get("usage") or self.usage
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            self.reason = choice.get("finish_reason") or self.reason
            text = delta.get("content") or delta.get("refusal") or ""
            if self.calls:
                self.late += [text] if text else []
            else:
                if thoughts := thoughts_of(delta):
                    yield Piece("thought", thoughts)
                if text:
                    yield Piece("text", text)
            for call in delta.get("tool_calls") or ():
                self._gather(call)
        if self.calls:
            yield from self._of_call(min(self.calls))

    def _gather(self, delta: Json) -> None:
        index, given = int(delta.get("index") or 0), delta.get("function") or {}
        call = self.calls.setdefault(index, ToolCall(index))
        call.id = call.id or delta.get("id") or ""
        call.name = call.name or given.get("name") or ""
        call.waiting.append(given.get("arguments") or "")

    def _of_call(self, index: int) -> Iterator[Piece]:
        call = self.calls[index]
        if call.name:
            more, call.waiting = "".join(call.waiting), []
            yield Piece("call", more, call)


def thoughts_of(said: Json) -> str:
    """What a model thinks, of a message or of a piece of one."""
    return next((said[name] for name in THOUGHTS if isinstance(said.get(name), str)), "")


def arguments_of(text: str) -> Json:
    """The arguments of a call as an object; what is none becomes one."""
    try:
        given = json.loads(text or "{}")
    except ValueError:
        given = text
    return given if isinstance(given, dict) else {"arguments": given}


def event(name: str, data: Json) -> str:
    """An event of a stream, as its text."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _chunk(event: str) -> Json:
    """The chunk in an event; empty for others."""
    data = "".join(line[5:].lstrip() for line in event.split("\n") if line.startswith("data:"))
    try:
        chunk = json.loads(data)
    except ValueError:
        return {}
    return chunk if isinstance(chunk, dict) else {}
