"""Reads a chat completion, streamed or whole, as pieces of its parts, one part after another: thoughts, text, calls.

Servers differ in how they send the parts; the readers of chats read them here too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from compression.core.tokens import count_tokens
from conversations.gateway.messages import MAX_CALLS
from conversations.llm.errors import BrokenReply
from conversations.llm.providers.choices import call_pieces, finish_reason_of, first_choice, message_in
from conversations.llm.providers.reported_usage import tokens_of, usage_in
from conversations.llm.providers.tool_call_chunks import Call, Calls
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.providers.written_calls import WrittenCalls
from conversations.llm.providers.written_forms import Schemas
from conversations.llm.thinking.reasoning_fields import ReasoningFields
from conversations.llm.thinking.thinking_tags import ThinkingTags, split_closed

Json = dict[str, Any]

DONE = "[DONE]"
"""The data of the last event of a stream of chunks."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool: its number in the reply, an id that no other call of the reply has, and the tool's name.

    `extra` are further fields, which its provider wants back.
    """

    index: int
    id: str
    name: str
    extra: Json = field(default_factory=dict, compare=False)


class PartDelta(NamedTuple):
    """More of a part: of the thoughts, of the text, or of the arguments of a `call`."""

    kind: Literal["thought", "text", "call"]
    text: str
    call: ToolCall | None = None


class PartialCompletion:
    """A completion so far. The first call is passed on as it arrives, and parallel calls after its end, since their
    chunks may alternate. Text after a call comes last. `tools` are those that the model was offered: it may write calls
    of them as text. If the provider reports no usage, the tokens of the pieces are our own count.
    """

    def __init__(self, tools: Schemas | None = None) -> None:
        self.reason: str | None = None
        self.usage: Json = {}
        self._calls = Calls(most=MAX_CALLS)
        self._fields = ReasoningFields()
        self._tags = ThinkingTags()
        self._tools = tools or {}
        self._written = WrittenCalls(self._tools)
        self._tagged: list[str] = []
        self._late: list[str] = []
        self._begun: list[ToolCall] = []
        self._has_late_calls = False
        self._sent = 0

    @property
    def has_calls(self) -> bool:
        return bool(self._calls.so_far or self._begun)

    @property
    def calls(self) -> list[ToolCall]:
        """The calls that have been passed on."""
        return self._begun

    @property
    def thoughts(self) -> Json:
        """The fields of the assistant's message with which the thoughts so far go back to their model."""
        fields: Json = self._fields.returned.get("fields", {})
        return fields

    async def pieces(self, chunks: AsyncGenerator[str]) -> AsyncGenerator[PartDelta]:
        """The pieces of a stream's chunks, each the text of an event."""
        written: list[str] = []
        async with aclosing(chunks):
            async for text in chunks:
                for piece in self._taken(chunk_in(text)):
                    written.append(piece.text)
                    yield piece
        for piece in self._rest():
            written.append(piece.text)
            yield piece
        if not tokens_of(self.usage).completion:
            counted = await asyncio.to_thread(count_tokens, "".join(written))  # megabytes take seconds
            self.usage = self.usage | {"completion_tokens": counted}

    def whole(self, completion: Json) -> list[PartDelta]:
        """The pieces of a completion that came at once."""
        choice = first_choice(completion)
        said = message_in(choice)
        calls = list(call_pieces(said))
        thought, text = split_closed(_text(said.get("content")))
        spoken = {name: value for name, value in said.items() if name not in ("tool_calls", "function_call")}
        chunk = {"choices": [{"delta": spoken | {"content": text}, "finish_reason": choice.get("finish_reason")}]}
        self._has_late_calls = bool(calls)
        pieces = [*self._taken(chunk | {"usage": usage_in(completion)}), *self._rest()]
        for _, id, name, arguments, extra in calls:
            named = offered_name(name, self._tools)
            call = ToolCall(len(self._begun), id or f"call_{uuid4().hex}", named, extra)
            self._begun.append(call)
            pieces.append(PartDelta("call", arguments.strip() or "{}", call))
        return [PartDelta("thought", thought), *pieces] if thought else pieces

    def _taken(self, chunk: Json) -> Iterator[PartDelta]:
        self.usage = usage_in(chunk) or self.usage
        if not (choice := first_choice(chunk)):
            return
        delta = message_in(choice)
        self.reason = finish_reason_of(choice) or self.reason
        thought = self._fields.take(delta)
        tagged, text = self._tags.take(_text(delta.get("content")))
        text = self._written.take(text) + _text(delta.get("refusal"))
        if self.has_calls:
            self._late += [text] if text else []
        else:
            if thought or tagged:
                yield PartDelta("thought", thought + tagged)
            if text:
                yield PartDelta("text", text)
        for piece in call_pieces(delta):
            self._calls.take(*piece)
        if self.has_calls:
            yield from self._of_first()

    def _rest(self) -> Iterator[PartDelta]:
        """The pieces that are complete only at the end: a held tag, parallel calls, and text after them.

        Raises BrokenReply if the provider ended the answer by a fault of its own.
        """
        if self.reason == "aborted":
            raise BrokenReply("The provider broke the reply off. Try again.")
        held = self._written.take(self._tags.rest())
        is_whole = self.reason in (None, "stop", "tool_calls") and not (self.has_calls or self._has_late_calls)
        further, written = self._written.rest(is_whole=is_whole)
        if held := held + further:
            if self.has_calls:
                self._late.insert(0, held)
            else:
                yield PartDelta("text", held)
        for place, found in enumerate(written):
            self._calls.take(place, name=found.name, arguments=found.arguments)
        if self.has_calls:
            yield from self._of_first(is_over=True)
            for call in self._calls.so_far[1:]:
                if call.name.strip():
                    yield PartDelta("call", call.arguments.strip() or "{}", self._begin(call))
        if self._late:
            yield PartDelta("text", "".join(self._late))

    def _of_first(self, *, is_over: bool = False) -> Iterator[PartDelta]:
        """More of the first call, once its name is whole: its arguments have begun, or all is there."""
        call = self._calls.so_far[0]
        more = "".join(call.pieces[self._sent :])
        if not call.name.strip() or not (more or is_over):
            return
        is_empty = is_over and not call.arguments.strip()
        self._sent = len(call.pieces)
        begun = self._begun[0] if self._begun else self._begin(call)
        if more or is_empty:
            yield PartDelta("call", "{}" if is_empty else more, begun)

    def _begin(self, call: Call) -> ToolCall:
        taken = {begun.id for begun in self._begun}
        id = call.id if call.id and call.id not in taken else f"call_{uuid4().hex}"
        begun = ToolCall(len(self._begun), id, offered_name(call.name, self._tools), call.extra)
        self._begun.append(begun)
        return begun


def arguments_of(text: str) -> Json:
    """The arguments of a call as an object; other values are wrapped in one."""
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        given = text
    return given if isinstance(given, dict) else {"arguments": given}


def event(name: str, data: Json) -> str:
    """An event of a stream, as its text."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def chunk_in(event: str) -> Json:
    """The chunk in an event; empty for others."""
    data = "".join(line[5:].lstrip() for line in event.split("\n") if line.startswith("data:"))
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return chunk if isinstance(chunk, dict) else {}
