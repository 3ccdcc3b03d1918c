"""Gathers a stream into one answer: some servers stream although the request asks for one object."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

from conversations.gateway.messages import MAX_CALLS
from conversations.llm.providers.choices import call_pieces, finish_reason_of, message_in
from conversations.llm.providers.tool_call_chunks import Calls
from conversations.llm.thinking.reasoning_fields import ReasoningFields

Json = dict[str, Any]

_LINES = re.compile(rb"\r\n|\n|\r")


def events_in(content: bytes) -> list[Json]:
    """The objects in the data lines of a stream; other lines are left out, and [DONE] is an empty object."""
    events = []
    for line in _LINES.split(content):
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        try:
            event = {} if data == b"[DONE]" else json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def completion_of(chunks: list[Json]) -> Json | None:
    """The chat completion that a stream's chunks make; None if the stream is not complete."""
    completion: Json = {}
    choices: dict[int, _Choice] = {}
    for chunk in chunks:
        completion |= {name: value for name, value in chunk.items() if value is not None}
        for choice in chunk.get("choices") or ():
            if isinstance(choice, dict):
                choices.setdefault(choice.get("index") or 0, _Choice()).take(choice)
    is_done = chunks[-1] == {}
    if not choices or not all(choice.reason or is_done for choice in choices.values()):
        return None
    answers = [choices[index].whole(index) for index in sorted(choices)]
    return completion | {"object": "chat.completion", "choices": answers}


class _Choice:
    """One answer of a streamed completion so far."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._fields = ReasoningFields()
        self._calls = Calls(most=MAX_CALLS)

    def take(self, choice: Json) -> None:
        message = message_in(choice)
        self.reason = finish_reason_of(choice) or self.reason
        self._fields.take(message)
        for name, pieces in self._texts.items():
            if isinstance(message.get(name), str):
                pieces.append(message[name])
        for piece in call_pieces(message):
            self._calls.take(*piece)

    def whole(self, index: int) -> Json:
        said = {name: "".join(pieces) or None for name, pieces in self._texts.items()}
        message: Json = {"role": "assistant", **said, **self._fields.returned.get("fields", {})}
        if calls := [call for call in self._calls.so_far if call.name.strip()]:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{uuid4().hex}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                    **call.extra,
                }
                for call in calls
            ]
        return {"index": index, "message": message, "finish_reason": self.reason or ("tool_calls" if calls else "stop")}
