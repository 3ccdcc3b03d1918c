"""Holds the thoughts behind a reply's tool calls, for callers that do not return them.

Some models refuse the results of their calls without the thoughts that led to them. A caller of Messages that did not
ask for thoughts has none to return, and neither Messages nor Responses has a place for the signatures of Gemini's
calls. The thoughts are added to the requests that bring the calls back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.core.cache import cache

from conversations.gateway.chunks import PartialCompletion
from conversations.gateway.history import THOUGHTS
from conversations.gateway.messages import Raw

HELD_SECONDS = 24 * 60 * 60
"""The time for which thoughts are held; afterwards the server gets a placeholder, if it requires them."""
MAX_CHARS = 200_000
"""The most characters of a reply's thoughts that are held."""


async def hold(owner_id: int, model: str, reading: PartialCompletion) -> None:
    """Hold the thoughts of a person's reply from a model; a reply without calls has none that must return."""
    extras = {call.id: call.extra for call in reading.calls if call.extra}
    if not reading.calls or not (reading.thoughts or extras):
        return
    held = {"fields": reading.thoughts, "calls": extras}
    if len(json.dumps(held)) <= MAX_CHARS:
        await cache.aset(_key(owner_id, model, reading.calls[0].id), held, HELD_SECONDS)


def with_held(messages: object, owner_id: int, model: str) -> object:
    """A chat completion's messages with the thoughts that are held for their calls, unless they have their own."""
    if not isinstance(messages, list):
        return messages
    keys = {place: _key(owner_id, model, id) for place, id in _first_calls(messages)}
    held = cache.get_many(keys.values()) if keys else {}
    if not held:
        return messages
    return [_with(one, held.get(keys.get(place, ""), {})) for place, one in enumerate(messages)]


def _with(message: Raw, held: dict[str, Any]) -> Raw:
    if not held:
        return message
    calls = [held["calls"].get(call.get("id"), {}) | call for call in message["tool_calls"]]
    fields = {} if any(message.get(name) for name in THOUGHTS) else held["fields"]
    return message | fields | {"tool_calls": calls}


def _first_calls(messages: list[Any]) -> Iterator[tuple[int, str]]:
    """(place, id of the first call) of the messages with calls."""
    for place, message in enumerate(messages):
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, list) and calls and all(isinstance(call, dict) for call in calls):
            id = calls[0].get("id")
            if isinstance(id, str) and id:
                yield place, id


def _key(owner_id: int, model: str, call_id: str) -> str:
    return f"thoughts:{owner_id}:{sha256(f'{model} {call_id}'.encode(errors='replace')).hexdigest()}"
