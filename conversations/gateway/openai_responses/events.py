"""Makes the events of a streamed response of OpenAI's form out of the stream of a chat completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import aclosing

from conversations.gateway.chunks import PartDelta, PartialCompletion, event
from conversations.gateway.openai_responses.reply import (
    Naming,
    ended,
    item_id,
    message_item,
    new_id,
    reasoning_item,
    response,
    text_part,
)
from conversations.gateway.protocol import CallerRequest, Events, Json
from conversations.gateway.sealed_thoughts import sealed


async def events(chunks: Events, asked: CallerRequest) -> Events:
    """The events of a response that is streamed, as the chunks of a chat completion come."""
    reading = asked.reading()
    writing = _Writing(asked, lambda: sealed(reading.thoughts, asked.model))
    for written in writing.begin():
        yield written
    async with aclosing(reading.pieces(chunks)) as pieces:
        async for piece in pieces:
            for written in writing.take(piece):
                yield written
    for written in writing.close():
        yield written
    made = writing.made(reading)
    await asked.hold_thoughts(reading)
    await asked.hold(made)
    yield writing.last(made)


def broken(error: Json) -> str:
    """The error as the last event of a stream."""
    inner = error["error"]
    fault = {"code": inner["code"], "message": inner["message"]}
    failed = response(new_id("resp"), CallerRequest({"model": ""}), "failed", [])
    data = {"type": "response.failed", "sequence_number": 0, "response": failed | {"error": fault}}
    return event("response.failed", data)


class _Writing:
    """The items of a response so far; one is open at a time, with its text. `seal` seals the thoughts so far."""

    def __init__(self, asked: CallerRequest, seal: Callable[[], str]) -> None:
        self._asked, self._seal = asked, seal
        self._id = new_id("resp")
        self._naming = Naming(asked.body)
        self._number = 0
        self._output: list[Json] = []
        self._open = ""
        self._item: Json = {}
        self._said: list[str] = []

    def begin(self) -> Iterator[str]:
        for name in ("created", "in_progress"):
            yield self._event(f"response.{name}", response=response(self._id, self._asked, "in_progress", []))

    def take(self, piece: PartDelta) -> Iterator[str]:
        """The events of a piece."""
        key = f"call {piece.call.index}" if piece.call else piece.kind
        if key != self._open:
            yield from self.close()
            yield from self._start(key, piece)
        self._said.append(piece.text)
        if piece.text and (name := DELTAS.get(self._item["type"])):
            yield self._in_item(name, delta=piece.text, **self._part())

    def made(self, reading: PartialCompletion) -> Json:
        """The whole response."""
        return ended(self._id, self._asked, self._output, reading.reason, reading.usage)

    def last(self, made: Json) -> str:
        return self._event(f"response.{made['status']}", response=made)

    def _start(self, key: str, piece: PartDelta) -> Iterator[str]:
        self._open, self._said = key, []
        if call := piece.call:
            self._item = self._naming.call_item(self._item_id("fc"), call.id, call.name, "", "in_progress")
            self._name = call.name
        elif piece.kind == "thought":
            self._item = reasoning_item(self._item_id("rs"), "") | {"summary": []}
        else:
            self._item = message_item(self._item_id("msg"), "", "in_progress") | {"content": []}
        yield self._event("response.output_item.added", output_index=len(self._output), item=self._item)
        if added := PARTS.get(self._item["type"]):
            yield self._in_item(f"{added}.added", part=self._part_of(""), **self._part())

    def close(self) -> Iterator[str]:
        """End the open item: its text, its part and itself."""
        if not self._open:
            return
        kind, id, text = self._item["type"], self._item["id"], "".join(self._said)
        if kind == "message":
            yield self._in_item("response.output_text.done", text=text, logprobs=[], **self._part())
            item = message_item(id, text)
        elif kind == "reasoning":
            yield self._in_item("response.reasoning_summary_text.done", text=text, **self._part())
            item = reasoning_item(id, text, self._seal())
        else:
            item = self._naming.call_item(id, self._item["call_id"], self._name, text)
            if kind == "custom_tool_call":
                yield self._in_item("response.custom_tool_call_input.delta", delta=item["input"])
                yield self._in_item("response.custom_tool_call_input.done", input=item["input"])
            elif kind == "function_call":
                done = {"name": item["name"], "arguments": text}
                yield self._in_item("response.function_call_arguments.done", **done)
        if added := PARTS.get(kind):
            yield self._in_item(f"{added}.done", part=self._part_of(text), **self._part())
        yield self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._open = ""

    def _item_id(self, kind: str) -> str:
        return item_id(kind, self._id, len(self._output))

    def _part(self) -> Json:
        """The place of the only part of the open item, by the name that its events have for it."""
        return {"message": {"content_index": 0}, "reasoning": {"summary_index": 0}}.get(self._item["type"], {})

    def _part_of(self, text: str) -> Json:
        return text_part(text) if self._item["type"] == "message" else {"type": "summary_text", "text": text}

    def _in_item(self, name: str, /, **data: object) -> str:
        if name == DELTAS["message"]:
            data["logprobs"] = []
        return self._event(name, item_id=self._item["id"], output_index=len(self._output), **data)

    def _event(self, name: str, /, **data: object) -> str:
        number, self._number = self._number, self._number + 1
        return event(name, {"type": name, "sequence_number": number} | data)


DELTAS = {
    "message": "response.output_text.delta",
    "reasoning": "response.reasoning_summary_text.delta",
    "function_call": "response.function_call_arguments.delta",
}
"""The event of more text, by the type of its item. The input of a custom tool is sent once it is whole."""
PARTS = {"message": "response.content_part", "reasoning": "response.reasoning_summary_part"}
"""The events of an item's part, by the type of the item."""
