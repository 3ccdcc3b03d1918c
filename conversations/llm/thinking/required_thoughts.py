"""Completes requests for servers that refuse earlier tool calls without the thoughts that led to them.

DeepSeek and Moonshot want `reasoning_content` in every assistant message with calls, Gemini a signature on the first
call of each. Thoughts that another model wrote, or that a client did not keep, cannot be returned: placeholders that
these servers accept take their place.

Sources: https://api-docs.deepseek.com/guides/thinking_mode and https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from conversations.llm.thinking.thoughts import EXTRA

Requirement = Literal["reasoning", "signatures"]

PLACEHOLDER = "…"
"""The reasoning of a message whose own is not known."""
UNSIGNED = "skip_thought_signature_validator"
"""Google's documented signature for calls that its model did not sign."""

_LACK = r"missing|required|must (?!not)|passed back|expected"
_REQUIREMENTS: dict[Requirement, re.Pattern[str]] = {
    "signatures": re.compile(rf"(?:{_LACK}).{{0,80}}thought_?signature|thought_?signature.{{0,80}}(?:{_LACK})", re.I),
    "reasoning": re.compile(rf"(?:{_LACK}).{{0,40}}reasoning_content|reasoning_content.{{0,80}}(?:{_LACK})", re.I),
}

_learned: dict[tuple[str, str], frozenset[Requirement]] = {}


def required_by(base_url: str, model: str) -> frozenset[Requirement]:
    """The requirements of a server's model, as far as this process knows."""
    return _learned.get((base_url, model), frozenset())


def learn(base_url: str, model: str, required: frozenset[Requirement]) -> None:
    """Remember, for this process, the requirements of a server's model."""
    if required:
        _learned[base_url, model] = required_by(base_url, model) | required


def requirement_in(complaint: str, body: Mapping[str, Any]) -> Requirement | None:
    """The requirement that an error names and the request does not meet; None if there is none."""
    return next((name for name, words in _REQUIREMENTS.items() if words.search(complaint) and _lacks(body, name)), None)


def completed(body: Mapping[str, Any], required: frozenset[Requirement]) -> dict[str, Any]:
    """The request with placeholders for the required thoughts that its messages lack."""
    return {**body, "messages": [_completed(message, required) for message in body["messages"]]}


def _lacks(body: Mapping[str, Any], name: Requirement) -> bool:
    return any(_completed(message, frozenset({name})) is not message for message in body["messages"])


def _completed(message: dict[str, Any], required: frozenset[Requirement]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or not calls:
        return message
    if "reasoning" in required and not message.get("reasoning_content"):
        message = message | {"reasoning_content": message.get("reasoning") or PLACEHOLDER}
    if "signatures" in required and not _is_signed(calls[0]):
        extra = calls[0].get(EXTRA) or {}
        signed = extra | {"google": (extra.get("google") or {}) | {"thought_signature": UNSIGNED}}
        message = message | {"tool_calls": [calls[0] | {EXTRA: signed}, *calls[1:]]}
    return message


def _is_signed(call: Mapping[str, Any]) -> bool:
    google = (call.get(EXTRA) or {}).get("google")
    return isinstance(google, dict) and bool(google.get("thought_signature"))
