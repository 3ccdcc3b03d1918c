"""Puts a history into the form that strict providers want. A valid history stays as it is.

Programs replay the output of other models and proxies. A provider that refuses a part once refuses it in every later
request too, so the part is rewritten instead.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from conversations.context.transcript import NO_RESULT, ORPHAN
from conversations.errors import Invalid
from conversations.gateway.messages import PLAIN, Raw, as_json
from conversations.llm.providers.text_repair import without_halves

MAX_DESCRIBED_CHARS = 2_000
"""The most characters of the fields of a part that has no equal in chat completions, apart from its texts."""
LONG_CHARS = 200
"""A field with more characters is a text of its own, or Base64, which says nothing to a model."""
TEXT_FIELDS = ("text", "content", "stdout", "stderr", "logs")
MAX_DEPTH = 20
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]+")
REPLACEMENT = "\ufffd"
_UNTOLD = frozenset({
    *("type", "id", "status", "signature", "cache_control", "caller"),
    *("encrypted_content", "encrypted_index", "encrypted_stdout"),
})  # fmt: skip
"""Fields of a part that say nothing to a model."""


def mended(messages: object) -> object:
    """A chat completion's messages with arguments that parse, ids that are texts, and each result behind its call."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return messages
    if all(message.keys() <= PLAIN and message.get("role") != "tool" for message in messages):
        return messages
    messages = [_with_id(_with_arguments(message), "tool_call_id") for message in messages]
    return list(_ordered(messages)) if any(_needs_order(messages)) else messages


def mended_tools(tools: object) -> object:
    """Definitions of tools whose objects all have `properties`, without which OpenAI refuses the request."""
    return [_with_properties(tool) for tool in tools] if isinstance(tools, list) else tools


def described(part: dict[str, Any]) -> str:
    """A part of a message that chat completions have no equal for: a line with its kind and fields, then its texts."""
    rest, texts = parted(part)
    text = as_json(rest) if rest else ""
    cut = text if len(text) <= MAX_DESCRIBED_CHARS else f"{text[:MAX_DESCRIBED_CHARS]}…"
    return "\n".join([f"[{part.get('type', 'part')}] {cut}".strip(), *texts])


def parted(part: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(the short fields of a part, its texts in order); data of files and fields that say nothing are left out."""
    texts: list[str] = []
    return _without_texts(part, texts) or {}, texts


def _without_texts(value: Any, texts: list[str], name: str = "", depth: int = 0) -> Any:
    """The value without its texts, which are added to `texts`; what is nested deeper than MAX_DEPTH stays."""
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, dict):
        left = {key: _without_texts(one, texts, key, depth + 1) for key, one in value.items() if key not in _UNTOLD}
        return {key: one for key, one in left.items() if one not in (None, "", [], {})}
    if isinstance(value, list):
        told = [_without_texts(one, texts, depth=depth + 1) for one in value]
        return [one for one in told if one not in (None, "", [], {})]
    is_text = name in TEXT_FIELDS
    if not isinstance(value, str) or (not is_text and len(value) <= LONG_CHARS):
        return value
    if not is_text and _BASE64.fullmatch(value):
        return f"[{len(value):,} characters of data]"
    texts.append(value)
    return None


def file_note(kind: str, media_type: str, data: str, name: str = "") -> str:
    """A line for a file that the model is not sent: its name, its type and its size."""
    size = len(data.rstrip("=")) * 3 // 4
    named = f"{kind} {name}".strip()
    return f"[{named}: {media_type or 'unknown type'}, {size:,} bytes, not sent to this model]"


def without_surrogates(value: Any) -> Any:
    """A JSON value whose texts are valid: half a character is U+FFFD."""
    return _with_texts(value, without_halves)


def storable(value: Any) -> Any:
    """A JSON value whose texts a database can hold: NUL is U+FFFD."""
    return _with_texts(value, lambda text: text.replace("\0", REPLACEMENT))


def _with_texts(value: Any, change: Any) -> Any:
    """The value with each text changed. Raises Invalid for a value that is nested too deeply."""
    try:
        return _mapped(value, change)
    except RecursionError:
        raise Invalid("not valid JSON: nested too deeply.") from None


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(one, change) for one in value]
    if isinstance(value, dict):
        return {change(name): _mapped(one, change) for name, one in value.items()}
    return value


def _with_arguments(message: Raw) -> Raw:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    fixed = [_with_id(_fixed(call), "id") for call in calls]
    return message if all(a is b for a, b in zip(calls, fixed, strict=True)) else message | {"tool_calls": fixed}


def _fixed(call: Any) -> Any:
    """The call with arguments that are a JSON object."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type", "function") != "function":
        return call
    given = function.get("arguments")
    arguments = given if isinstance(given, str) and _is_object(given) else _as_object(given)
    return call if arguments is given else call | {"function": function | {"arguments": arguments}}


def _with_id(holder: Any, name: str) -> Any:
    """A call or a message whose id is a text: some programs count their calls."""
    id = holder.get(name) if isinstance(holder, dict) else None
    return holder if id is None or isinstance(id, str) else holder | {name: as_json(id)}


def _as_object(given: object) -> str:
    if given is None or (isinstance(given, str) and not given.strip()):
        return "{}"
    return as_json(given if isinstance(given, dict) else {"input": given})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _needs_order(messages: Sequence[Raw]) -> Iterator[bool]:
    """Whether a call lacks its result right behind it, or a result its call."""
    waiting: list[object] = []
    for message in messages:
        if message.get("role") == "tool":
            id = message.get("tool_call_id")
            yield id not in waiting
            if id in waiting:
                waiting.remove(id)
            continue
        yield bool(waiting)
        waiting = [call.get("id") for call in _calls(message)]
    yield bool(waiting)


def _ordered(messages: Sequence[Raw]) -> Iterator[Raw]:
    results: defaultdict[object, deque[int]] = defaultdict(deque)
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            results[message.get("tool_call_id")].append(place)
    taken: set[int] = set()
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            if place not in taken:
                yield {"role": "user", "content": f"{ORPHAN}{_text(message)}"}
            continue
        yield message
        for call in _calls(message):
            later = results[call.get("id")]
            while later and later[0] < place:
                later.popleft()
            if later:
                taken.add(later[0])
                yield messages[later.popleft()]
            else:
                yield {"role": "tool", "tool_call_id": call.get("id"), "content": NO_RESULT}


def _calls(message: Raw) -> list[Raw]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _text(message: Raw) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else as_json(content) if content else ""


def _with_properties(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict):
        return tool
    schema = function.get("parameters")
    if not isinstance(schema, dict) or schema.get("type") != "object" or "properties" in schema:
        return tool
    return tool | {"function": function | {"parameters": schema | {"properties": {}}}}
