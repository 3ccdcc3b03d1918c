"""A model's thoughts: how long they may be, and in which form their provider wants them back within a turn of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Returned = dict[str, Any]
"""Thoughts as they go back to their provider, which signs some of them: never changed, only sent or left out.

`model` is the id of the model that wrote them, `blocks` are those of Anthropic's API, `fields` are fields of an
assistant's message of chat completions, and `calls` are fields of its tool calls by their ids.
"""

MAX_THOUGHT_CHARS = 100_000
"""The most characters of a reply's thoughts that are shown and kept."""
CUT = "\n\n… [the rest of these thoughts was not kept]"
TEXT_FIELDS = ("reasoning_content", "reasoning")
"""Fields of chat completions with thoughts: of DeepSeek, vLLM and others, and of OpenRouter and Ollama."""
DETAILS = "reasoning_details"
"""OpenRouter's field for thoughts in parts, some of them signed."""
EXTRA = "extra_content"
"""Google's field of a tool call, with the signature of the thoughts that led to it."""
BLOCKS = ("thinking", "redacted_thinking")
"""The types of Anthropic's blocks with thoughts."""

_LACK = r"missing|required|must (?!not|be satisfied)|passed back"
REASONING_MISSING = re.compile(
    rf"(?:{_LACK}).{{0,40}}reasoning_content|reasoning_content.{{0,80}}(?:{_LACK})", re.IGNORECASE
)
"""Recognises errors of servers that require `reasoning_content` (`required_thoughts`)."""
SIGNATURE_MISSING = re.compile(
    rf"(?:{_LACK}).{{0,80}}thought_?signature|thought_?signature.{{0,80}}(?:{_LACK})", re.IGNORECASE
)
"""Recognises errors of servers that require signatures of calls."""
_MISSING = re.compile(r"expected .{0,3}thinking.{0,60}but found|must start with a thinking block", re.IGNORECASE)
_REFUSED = re.compile(
    r"reasoning_content|reasoning_details|extra_content|signature|thinking.{0,3} (?:or .{0,24} )?blocks?"
    r"|messages?[.\[]\d+.{0,60}(?:reasoning|thinking)",
    re.IGNORECASE | re.DOTALL,
)

_unwanted: set[tuple[str, str]] = set()


def as_returned(parts: dict[str, Any], model: str) -> Returned | None:
    """A reader's `returned` with the id of the model; None without thoughts, or with text that no row can hold: signed
    thoughts cannot be repaired.
    """
    if not parts:
        return None
    try:
        written = json.dumps(parts, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None
    return None if rb"\u0000" in written else parts | {"model": model}


def wants_them_back(base_url: str, model: str) -> bool:
    """Whether a server's model takes its thoughts back, as far as this process knows."""
    return (base_url, model) not in _unwanted


def learn_unwanted(base_url: str, model: str) -> None:
    """Remember, for this process, that a server refused the thoughts of its model."""
    _unwanted.add((base_url, model))


def are_missing(complaint: str) -> bool:
    """Whether an error says that the request lacks thoughts, which a model that thinks must have before its calls."""
    return bool(_MISSING.search(complaint))


def are_refused(complaint: str, body: Mapping[str, Any]) -> bool:
    """Whether an error says that the server does not take the thoughts in a request."""
    if REASONING_MISSING.search(complaint) or SIGNATURE_MISSING.search(complaint):
        return False
    return bool(_REFUSED.search(complaint)) and without(body)["messages"] != body["messages"]


def without(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request without thoughts."""
    return {**body, "messages": [_bare(message) for message in body["messages"]]}


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") != "assistant":
        return message
    kept = {name: value for name, value in message.items() if name not in (*TEXT_FIELDS, DETAILS)}
    if isinstance(calls := kept.get("tool_calls"), list):
        kept["tool_calls"] = [_bare_call(call) for call in calls]
    if isinstance(kept.get("content"), list):
        kept["content"] = [block for block in kept["content"] if block.get("type") not in BLOCKS]
    return kept


def _bare_call(call: Any) -> Any:
    return {name: value for name, value in call.items() if name != EXTRA} if isinstance(call, dict) else call
