"""Puts messages into forms that strict servers require: short ids of tool calls, single calls, and no empty content.

Mistral wants ids of nine letters and digits, OpenAI at most 40 characters, Anthropic no other characters than letters,
digits, "_" and "-". Histories hold the ids of every model that took part. Bedrock refuses empty texts, and the chat
template of Llama 3.1 messages with several calls.

Sources: https://github.com/anomalyco/opencode/issues/1680 and https://github.com/vercel/ai/pull/13744
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

Json = dict[str, Any]

ID_REFUSED = re.compile(
    r"""tool[ _]?(?:call|use)[s_ \[\]\d.,'"/]{0,8}id\b.{0,160}"""
    r"(?:length|too long|pattern|a-z|(?:most|more than|to) \d+ char)",
    re.IGNORECASE | re.DOTALL,
)
EMPTY_REFUSED = re.compile(
    r"non-?empty|non-whitespace|(?:not|n't)(?: allowed to)? be (?:empty|blank)|content field.{0,80}empty"
    r"|empty (?:text |message )?(?:content|parameter)|content.{0,40} (?:is|be) (?:an )?(?:empty|blank)"
    r"|field.{0,80} is blank|at least (?:1|one) (?:token|character|content)|fewer than 1 char"
    r"|length(?: of)?(?: >=)? 1\b|or equal to 1 char|>=1 char|content.{0,40}between 1 and"
    r"|must have a (?:message|text parameter)|contents field is required|too short - .{0,40}content"
    r"|content.{0,20} (?:is|be) (?:required|mandatory|provided)|either content or tool_calls|不能为空",
    re.IGNORECASE | re.DOTALL,
)
SINGLE_CALLS = re.compile(
    r"single tool.?calls?|(?:only|just|more than) one tool.?call|(?:parallel|multiple) tool.?calls? (?:is|are) not",
    re.IGNORECASE,
)
NOTHING = "…"
"""The text of a message that has none."""
NO_OUTPUT = "[no output]"
"""The result of a tool that printed nothing."""

_SHORT = re.compile(r"[a-zA-Z0-9]{9}")
_IDS = ("tool_call_id", "tool_use_id")
_CALLS = ("tool_use", "function")


def with_short_ids(body: Mapping[str, Any]) -> Json:
    """The request with ids of nine letters and digits; a call and its result keep the same one."""
    return {**body, "messages": [_with_short_ids(message) for message in body["messages"]]}


def with_single_calls(body: Mapping[str, Any]) -> Json:
    """The request whose messages call one tool each: each of several calls gets a message of its own with its result.

    Results without a call among these keep their place behind them.
    """
    groups: list[list[Json]] = []
    open_calls: dict[str, list[Json]] = {}
    for message in body["messages"]:
        is_result = message.get("role") == "tool"
        if is_result and (group := open_calls.get(str(message.get("tool_call_id")))):
            group.append(message)
            continue
        parts = _with_single_calls(message)
        groups += [[part] for part in parts]
        if len(parts) > 1:
            calls = (str(part["tool_calls"][0].get("id")) for part in parts)
            open_calls = dict(zip(calls, groups[-len(parts) :], strict=True))
        elif not is_result:
            open_calls = {}
    return {**body, "messages": [message for group in groups for message in group]}


def with_contents(body: Mapping[str, Any]) -> Json:
    """The request without empty texts: left out beside others, null beside calls, and NOTHING elsewhere."""
    return {**body, "messages": [_with_content(message) for message in body["messages"]]}


def _with_single_calls(message: Json) -> list[Json]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or len(calls) < 2 or not all(isinstance(call, dict) for call in calls):
        return [message]
    others = {"role": message.get("role"), "content": None if message.get("content") is None else ""}
    return [(others if place else message) | {"tool_calls": [call]} for place, call in enumerate(calls)]


def _with_short_ids(message: Json) -> Json:
    lists = {name: message[name] for name in ("tool_calls", "content") if isinstance(message.get(name), list)}
    return _with_short_id(message) | {name: list(map(_with_short_id, parts)) for name, parts in lists.items()}


def _with_short_id(part: Any) -> Any:
    """A message, a call or a block with a short id of its call."""
    if not isinstance(part, dict):
        return part
    changed: Json = {name: _short(part[name]) for name in _IDS if name in part}
    if part.get("type") in _CALLS and "id" in part:
        changed["id"] = _short(part["id"])
    return part | changed


def _short(id: Any) -> Any:
    if not isinstance(id, str) or _SHORT.fullmatch(id):
        return id
    return sha256(id.encode(errors="replace")).hexdigest()[:9]


def _with_content(message: Json) -> Json:
    content = message.get("content")
    if isinstance(content, list):
        kept = [part for part in content if not _is_empty(part)]
        return message | {"content": kept or [{"type": "text", "text": NOTHING}]}
    if not isinstance(content, str) or content.strip():
        return message
    if message.get("tool_calls"):
        return message | {"content": None}
    return message | {"content": NO_OUTPUT if message.get("role") == "tool" else NOTHING}


def _is_empty(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text") or "").strip()
