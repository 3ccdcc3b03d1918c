"""Completes requests for servers that refuse earlier tool calls without the thoughts that led to them.

DeepSeek and Moonshot want `reasoning_content` in every assistant message with calls, Gemini a signature on the first
call of each. Thoughts that another model wrote, or that a client did not keep, cannot be returned: placeholders that
these servers accept take their place.

Sources: https://api-docs.deepseek.com/guides/thinking_mode and https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conversations.llm.thinking.thoughts import EXTRA

Json = dict[str, Any]

PLACEHOLDER = "…"
"""The reasoning of a message whose own is not known."""
UNSIGNED = "skip_thought_signature_validator"
"""Google's documented signature for calls that its model did not sign."""


def with_reasoning(body: Mapping[str, Any]) -> Json:
    """The request with `reasoning_content` in every message with calls."""
    return _with_calls(body, _reasoned)


def with_signatures(body: Mapping[str, Any]) -> Json:
    """The request with a signature on the first call of every message."""
    return _with_calls(body, _signed)


def _with_calls(body: Mapping[str, Any], change: Callable[[Json], Json]) -> Json:
    """The request with changed messages where these have calls."""
    messages = [
        change(message) if message.get("role") == "assistant" and _calls(message) else message
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def _reasoned(message: Json) -> Json:
    if message.get("reasoning_content"):
        return message
    return message | {"reasoning_content": message.get("reasoning") or PLACEHOLDER}


def _signed(message: Json) -> Json:
    first, *others = message["tool_calls"]
    extra = _object(first.get(EXTRA)) if isinstance(first, dict) else {}
    google = _object(extra.get("google"))
    if google.get("thought_signature") or not isinstance(first, dict):
        return message
    signed = first | {EXTRA: extra | {"google": google | {"thought_signature": UNSIGNED}}}
    return message | {"tool_calls": [signed, *others]}


def _calls(message: Json) -> list[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
