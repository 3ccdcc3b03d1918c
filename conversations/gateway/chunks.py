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
from conversations.llm.providers.tool_call_chunks import Call, Calls, extra_in, text_of
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.providers.written_calls import WrittenCalls
from conversations.llm.providers.written_forms import Schemas
from conversations.llm.thinking.reasoning_fields import ReasoningFields
from conversations.llm.thinking.thinking_tags import ThinkingTags, split_closed

Json = dict[str, Any]


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
        if not self.usage.get("completion_tokens"):
            counted = await asyncio.to_thread(count_tokens, "".join(written))  # megabytes take seconds
            self.usage = self.usage | {"completion_tokens": counted}

    def whole(self, completion: Json) -> list[PartDelta]:
        """The pieces of a completion that came at once."""
        choices = completion.get("choices")
        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
        said = _object(choice.get("message"))
        thought, text = split_closed(_text(said.get("content")))
        spoken = {name: value for name, value in said.items() if name not in ("tool_calls", "function_call")}
        chunk = {"choices": [{"delta": spoken | {"content": text}, "finish_reason": choice.get("finish_reason")}]}
        self._has_late_calls = any(_calls_in(said))
        pieces = [*self._taken(chunk | {"usage": completion.get("usage")}), *self._rest()]
        for _, id, name, arguments, extra in _calls_in(said):
            named = offered_name(name, self._tools)
            call = ToolCall(len(self._begun), id or f"call_{uuid4().hex}", named, extra)
            self._begun.append(call)
            pieces.append(PartDelta("call", arguments.strip() or "{}", call))
        return [PartDelta("thought", thought), *pieces] if thought else pieces

    def _taken(self, chunk: Json) -> Iterator[PartDelta]:
        usage, choices = chunk.get("usage"), chunk.get("choices")
        self.usage = usage if isinstance(usage, dict) and usage else self.usage
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        delta = _object(choice.get("delta"))
        self.reason = choice.get("finish_reason") or self.reason
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
        self._gather(delta)
        if self.has_calls:
            yield from self._of_first()

    def _rest(self) -> Iterator[PartDelta]:
        """The pieces that are complete only at the end: a held tag, parallel calls, and text after them."""
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

    def _gather(self, delta: Json) -> None:
        given = list(_calls_in(delta))
        for place, (index, id, name, arguments, extra) in enumerate(given):
            number = index if index is not None else place if len(given) > 1 else None
            self._calls.take(number, id=id, name=name, arguments=arguments, extra=extra)

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


def _calls_in(said: Json) -> Iterator[tuple[int | None, str, str, str, Json]]:
    """The number (None: none is given), id, name, arguments and further fields of each call in a message or delta."""
    calls = said.get("tool_calls")
    given = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(old := said.get("function_call"), dict):
        given.append({"index": 0, "function": old})
    for call in given:
        index, function = call.get("index"), _object(call.get("function"))
        name, arguments = str(function.get("name") or ""), text_of(function.get("arguments"))
        number = index if isinstance(index, int) else None
        yield number, str(call.get("id") or ""), name, arguments, extra_in(call)


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


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    """A content's text; some servers send it as a list of parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def chunk_in(event: str) -> Json:
    """The chunk in an event; empty for others."""
    data = "".join(line[5:].lstrip() for line in event.split("\n") if line.startswith("data:"))
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return chunk if isinstance(chunk, dict) else {}
