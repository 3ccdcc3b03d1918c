"""Gives callers of chat completions the answer that a model means: calls written as text or numbered alike, other names
of tools and of finish reasons, contents in parts.

All else of an answer passes unchanged, byte by byte. The readers of the other protocols do the same (`chunks`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from conversations.gateway.chunks import DONE, chunk_in
from conversations.gateway.messages import MAX_CALLS
from conversations.gateway.openai_responses.tools import INPUT
from conversations.gateway.protocol import Events, Json
from conversations.llm.providers.choices import (
    CallPiece,
    as_object,
    call_pieces,
    finish_reason_of,
    first_choice,
    message_in,
)
from conversations.llm.providers.tool_call_chunks import Call, Calls, object_of
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.providers.written_calls import WrittenCalls
from conversations.llm.providers.written_forms import Schemas, WrittenCall

WHOLE = ("stop", "tool_calls")
"""The finish reasons of a reply that was not cut off."""


async def with_meant_calls(events: Events, tools: Schemas, custom: Set[str] = frozenset()) -> Events:
    """The events of a stream with one answer, for a request that offers these tools, some of them `custom`."""
    reading = _Stream(tools, custom)
    async with aclosing(events):
        async for event in events:
            for passed in reading.take(event):
                yield passed


def meant_answer(content: bytes, tools: Schemas, custom: Set[str] = frozenset()) -> bytes:
    """A whole chat completion with one answer, for a request that offers these tools, some of them `custom`."""
    completion = json.loads(content)
    if not (choice := first_choice(completion)):
        return content
    said = message_in(choice)
    meant, reason = _with_calls(said, tools), _reason_of(choice, tools)
    text, has_calls = meant.get("content"), any(piece.name for piece in call_pieces(meant))
    if tools and not has_calls and isinstance(text, str) and reason in (None, *WHOLE):
        written = WrittenCalls(tools)
        before = written.take(text)
        rest, calls = written.rest(is_whole=True)
        if has_calls := bool(calls):
            meant = meant | {"content": before + rest or None, "tool_calls": [_call(call) for call in calls]}
    meant = _with_custom(meant, custom)
    reason = _ending(reason or ("tool_calls" if has_calls else "stop"), has_calls=has_calls, tools=tools)
    if meant is choice.get("message") and reason == choice.get("finish_reason"):
        return content
    answer = choice | {"message": meant, "finish_reason": reason}
    return json.dumps(completion | {"choices": [answer]}, ensure_ascii=False).encode()


class _Stream:
    """The reading of a stream.

    `_has_calls`: the server has recognised calls itself, so all text is text. `_open`: the fields of the latest chunk
    while the answer has no finish reason, as some servers end a stream without one.
    """

    def __init__(self, tools: Schemas, custom: Set[str]) -> None:
        self._tools, self._custom = tools, custom
        self._written = WrittenCalls(tools)
        self._calls = _StreamedCalls(tools)
        self._has_calls = False
        self._open: Json = {}

    def take(self, event: str) -> Iterator[str]:
        """The events that stand for one of the stream."""
        chunk = chunk_in(event)
        if not (choice := first_choice(chunk)):
            if self._open and event.removeprefix("data:").strip() == DONE:
                yield from self._finish()
            yield event
            return
        reason = _reason_of(choice, self._tools)
        self._open = {} if reason else _without_usage(chunk)
        meant = said = message_in(choice)
        if self._tools and any(call_pieces(said)):
            if not self._has_calls:
                self._has_calls = True
                yield from self._rest(chunk, choice, is_whole=False)
            meant = self._calls.passed(said) if not self._custom else self._calls.held(said)
        content = said.get("content")
        if isinstance(content, str) and (text := self._written.take(content)) != content:
            meant = meant | {"content": text}
        is_same = meant is choice.get("delta") and reason == choice.get("finish_reason")
        if reason:
            yield from self._ended(event if is_same else "", chunk, choice | {"delta": meant}, reason)
        elif is_same:
            yield event
        elif any(meant.values()):
            yield _event(chunk, choice | {"delta": meant})

    def _ended(self, event: str, chunk: Json, choice: Json, reason: str) -> Iterator[str]:
        """The events for the last one; `event` itself, unless it is empty, if there is nothing to change."""
        begun, delta = _without_usage(chunk), choice["delta"]  # the usage comes once, with the end
        further = list(self._rest(begun, choice, is_whole=reason in WHOLE))
        ending = _ending(reason, has_calls=self._has_calls, tools=self._tools)
        if event and not further and ending == reason:
            yield event
            return
        if any(delta.values()):
            yield _event(begun, choice | {"finish_reason": None})
        yield from further
        yield _event(chunk, choice | {"delta": {}, "finish_reason": ending})

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
        meant = _with_custom({"tool_calls": [_call(call) for call in calls] or self._calls.rest()}, self._custom)
        for place, one in enumerate(meant["tool_calls"]):
            self._has_calls = True
            delta = {"tool_calls": [{"index": place} | one]}
            yield _event(chunk, choice | {"delta": delta, "finish_reason": None})


class _StreamedCalls:
    """The calls of a stream as OpenAI sends them: each with a number and an id of its own, its arguments as text."""

    def __init__(self, tools: Schemas) -> None:
        self._tools = tools
        self._calls = Calls(most=MAX_CALLS)
        self._places: dict[int, int] = {}
        self._sent: dict[int, tuple[int, int]] = {}
        """By the number of a call, the characters of its name and the pieces of its arguments that were passed on."""

    def passed(self, delta: Json) -> Json:
        """The delta with its pieces of calls; the same object if nothing changes."""
        given = delta.get("tool_calls") or [{}]
        if any("custom" in call for call in given if isinstance(call, dict)):
            return delta
        pieces = list(call_pieces(delta))
        own = [call for call in given if isinstance(call, dict)] if len(given) == len(pieces) else [{}] * len(pieces)
        passed = [self._passed(piece, call) for piece, call in zip(pieces, own, strict=False)]
        if len(passed) == len(given) and all(a is b for a, b in zip(passed, given, strict=True)):
            return delta
        kept = {name: value for name, value in delta.items() if name not in ("tool_calls", "function_call")}
        calls = [call for call in passed if call]
        return kept | {"tool_calls": calls} if calls else kept

    def held(self, delta: Json) -> Json:
        """The delta without its pieces of calls, which are held until the end: only a whole input can be read."""
        for piece in call_pieces(delta):
            self._calls.take(*piece)
        return {name: value for name, value in delta.items() if name not in ("tool_calls", "function_call")}

    def rest(self) -> list[Json]:
        """The calls that were held."""
        held = [] if self._sent else [call for call in self._calls.so_far if call.name.strip()]
        self._calls = Calls(most=MAX_CALLS)
        return [_made(offered_name(one.name, self._tools), one.arguments, one.id) | one.extra for one in held]

    def _passed(self, piece: CallPiece, given: Json) -> Json | None:
        """The piece in OpenAI's form; None if it adds nothing."""
        call = self._calls.take(*piece)
        if (place := self._place(call)) is None:
            return None
        is_new = place not in self._sent
        named, came = self._sent.get(place, (0, 0))
        name, arguments = call.name[named:], "".join(call.pieces[came:])
        self._sent[place] = len(call.name), len(call.pieces)
        meant = offered_name(name, self._tools) if is_new and name else name
        function = as_object(given.get("function"))
        is_named = (function.get("name") or "") == meant and (function.get("arguments") or "") == arguments
        if is_named and given.get("index") == place and (piece.id or not is_new):
            return given
        if not (is_new or name or arguments):
            return None
        others = {field: value for field, value in given.items() if field not in ("index", "id", "type", "function")}
        first: Json = {"id": piece.id or f"call_{uuid4().hex}", "type": "function"} if is_new else {}
        said = ({"name": meant} if meant or is_new else {}) | {"arguments": arguments}
        return {"index": place, **first, "function": said, **others}

    def _place(self, call: Call) -> int | None:
        """The number of a call; None if the reply has too many. The latest call is the only one that can be new."""
        calls = self._calls.so_far
        if id(call) not in self._places and calls and calls[-1] is call:
            self._places[id(call)] = len(calls) - 1
        return self._places.get(id(call))


def _reason_of(choice: Json, tools: Schemas) -> Any:
    """The finish reason by OpenAI's name; that of the old form of calls stays for callers who use this form."""
    given, meant = choice.get("finish_reason"), finish_reason_of(choice)
    return given if meant == "aborted" or (given == "function_call" and not tools) else meant


def _ending(reason: str, *, has_calls: bool, tools: Schemas) -> str:
    """The finish reason that agrees with the calls: a caller would wait for the result of none."""
    if not tools or reason not in WHOLE:
        return reason
    return "tool_calls" if has_calls else "stop"


def _without_usage(chunk: Json) -> Json:
    return {name: value for name, value in chunk.items() if name != "usage"}


def _with_calls(said: Json, tools: Schemas) -> Json:
    """A whole message with its calls in OpenAI's form and by the offered names; the same object if it has them so."""
    given = said.get("tool_calls") or []
    is_known = isinstance(given, list) and all(isinstance(call, dict) and "custom" not in call for call in given)
    if not tools or not is_known:
        return said
    pieces = list(call_pieces(said))
    if not all(piece.name for piece in pieces):
        return said
    own = given or [{}] * len(pieces)
    calls = [_whole_call(piece, call, tools) for piece, call in zip(pieces, own, strict=True)]
    if len(calls) == len(given) and all(a is b for a, b in zip(calls, given, strict=True)):
        return said
    return {name: value for name, value in said.items() if name != "function_call"} | {"tool_calls": calls}


def _whole_call(piece: CallPiece, given: Json, tools: Schemas) -> Json:
    name = offered_name(piece.name, tools)
    if given.get("id") and given.get("function") == {"name": name, "arguments": piece.arguments}:
        return given
    return given | _made(name, piece.arguments, piece.id)


def _event(chunk: Json, choice: Json) -> str:
    return f"data: {json.dumps(chunk | {'choices': [choice]}, ensure_ascii=False)}\n\n"


def _call(call: WrittenCall) -> Json:
    return _made(call.name, call.arguments)


def _made(name: str, arguments: str, id: str = "") -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": id or f"call_{uuid4().hex}", "type": "function", "function": function}


def _with_custom(message: Json, custom: Set[str]) -> Json:
    """A message with whole calls, in which calls of custom tools have the text of their input."""
    calls = message.get("tool_calls")
    if not custom or not isinstance(calls, list):
        return message
    return message | {"tool_calls": [_as_custom(call, custom) for call in calls]}


def _as_custom(call: Any, custom: Set[str]) -> Any:
    function = as_object(as_object(call).get("function"))
    name = function.get("name")
    if not isinstance(name, str) or name not in custom:
        return call
    arguments = str(function.get("arguments") or "")
    given = object_of(arguments).get(INPUT)
    kept = {field: value for field, value in call.items() if field != "function"}
    return kept | {"type": "custom", "custom": {"name": name, "input": given if isinstance(given, str) else arguments}}
