"""Reads one message of a caller: its text, its tool calls, and whether it is a valid message."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NamedTuple

from compression.core.values import Role
from conversations.errors import Invalid

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
PLAIN = {"role", "content"}
"""The fields of most messages; one without others has no tool calls, and no thoughts."""
MAX_CALLS = 1_000
"""The most tool calls in one message."""

Raw = dict[str, Any]


class Use(NamedTuple):
    """One use of a tool, as a message asks for it."""

    id: str
    name: str
    arguments: str


def checked(number: int, raw: object) -> Raw:
    if not isinstance(raw, dict):
        raise _fault(number, "", "must be an object.")
    if not isinstance(raw.get("role"), str) or raw["role"] not in ROLES:
        raise _fault(number, ".role", f"must be one of {', '.join(ROLES)}.")
    content, calls = raw.get("content"), raw.get("tool_calls")
    if not (content is None or isinstance(content, str) or _is_parts(content)):
        raise _fault(number, ".content", "must be text, or a list of parts that each have a type.")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise _fault(number, ".tool_calls", "must be a list of objects.")
    if calls is not None and len(calls) > MAX_CALLS:
        raise _fault(number, ".tool_calls", f"at most {MAX_CALLS:,}.")
    return raw


def _fault(number: int, field: str, what: str) -> Invalid:
    place = f"messages[{number}]{field}"
    return Invalid(f"{place}: {what}", field=place)


def _is_parts(content: object) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in content
    )


def spoken_text(raw: Raw) -> str:
    """The message's text after the name of its speaker: the same words of another speaker are another history."""
    name, text = raw.get("name"), text_of(raw)
    return f"{name}: {text}" if isinstance(name, str) and name else text


def text_of(raw: Raw) -> str:
    """The message's text; a part that is no text is named by its hash, so that another image makes another history."""
    content = raw.get("content")
    if content is None:
        return str(raw.get("refusal") or "")
    return content if isinstance(content, str) else "\n".join(_part_text(part) for part in content)


def _part_text(part: Raw) -> str:
    text = _words(part)
    return text if text is not None else f"[{part['type']} {sha256(as_json(part).encode()).hexdigest()[:12]}]"


def _words(part: Raw) -> str | None:
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else None


def odd_parts(raw: Raw) -> int:
    content = raw.get("content")
    return sum(_words(part) is None for part in content) if isinstance(content, list) else 0


def calls_of(raw: Raw) -> list[Use]:
    """The id, name and arguments of each tool call in a message, for tools of every kind."""
    found = []
    for call in raw.get("tool_calls") or ():
        kind = call.get(str(call.get("type") or "function"))
        inner = kind if isinstance(kind, dict) else {}
        found.append(Use(str(call.get("id") or ""), str(inner.get("name") or ""), _argument(inner)))
    if isinstance(old := raw.get("function_call"), dict):
        name = str(old.get("name") or "")  # its result has nothing else to name it by
        found.append(Use(name, name, _argument(old)))
    return found


def _argument(inner: Raw) -> str:
    given = inner.get("arguments", inner.get("input"))
    return given if isinstance(given, str) else as_json(given) if given is not None else ""


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
