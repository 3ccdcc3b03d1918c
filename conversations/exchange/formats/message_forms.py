"""Converts a message in another API's form to the form of OpenAI's chat completions.

It reads parts, Anthropic's blocks, arguments as objects, dates as numbers, and other names of the roles.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.foreign_images import Images, fit
from conversations.models import Attachment, Message

Role = Message.Role
ROLES = {
    "human": Role.USER.value,
    "developer": Role.SYSTEM.value,
    "function": Role.TOOL.value,
    **dict.fromkeys(("ai", "bot", "gpt", "model"), Role.ASSISTANT.value),
}
THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
ATTACHED = object()
"""The key of a message's images as rows: no key of JSON."""
DATES = ("created_at", "timestamp", "create_time")


def is_message(value: object) -> bool:
    """Whether a value in a list of messages is a whole message."""
    if not isinstance(value, dict) or "messages" in value:
        return False
    return ("role" in value and ("content" in value or "tool_calls" in value)) or ("from" in value and "value" in value)


def as_messages(message: object, images: Images) -> Iterator[Any]:
    """One message for each of Anthropic's tool results, then the message itself. Other values stay unchanged."""
    if not isinstance(message, dict):
        yield message
        return
    role = message.get("role", message.get("from"))
    made: dict[Any, Any] = message | {"role": ROLES.get(role, role) if isinstance(role, str) else role}
    if "content" not in made and ("value" in made or made.get("tool_calls")):
        made["content"] = made.get("value")
    if date := _date(made):
        made["created_at"] = date
    if isinstance(made.get("tool_calls"), list):
        made["tool_calls"] = [_call(one) for one in made["tool_calls"]]
    if not isinstance(made.get("content"), list):
        yield made
        return
    parts = foreign_text.objects([{"text": one} if isinstance(one, str) else one for one in made["content"]])
    results = [one for one in parts if one.get("type") == "tool_result"]
    for one in results:
        text = _text(one.get("content"))
        yield {"role": Role.TOOL.value, "tool_call_id": one.get("tool_use_id"), "content": foreign_text.cut(text)}
    uses = [_of_use(one) for one in parts if one.get("type") == "tool_use"]
    if uses and made["role"] == Role.ASSISTANT and not made.get("tool_calls"):
        made["tool_calls"] = uses
    files: list[Attachment] = []
    texts = [_part(one, images, files if made["role"] == Role.USER else None) for one in parts]
    made |= {"content": foreign_text.joined(*texts), ATTACHED: files}
    if made["content"] or files or made.get("tool_calls") or not results:
        yield made


def _date(message: dict[Any, Any]) -> str | None:
    """The message's date as text, from a number or from a field with another name."""
    named = next((message[name] for name in DATES if message.get(name) is not None), None)
    if isinstance(message.get("created_at"), str) or named is None:
        return None
    date = foreign_text.date(named)
    return date.isoformat() if date else None


def _call(call: object) -> object:
    """The call with its arguments as text; its name may stand beside its id."""
    if not isinstance(call, dict):
        return call
    function = call.get("function", {name: call[name] for name in ("name", "arguments", "args") if name in call})
    if not isinstance(function, dict) or not function:
        return call
    arguments = function.get("arguments", function.get("args"))
    if isinstance(arguments, dict | list):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return call | {"function": function | {"arguments": arguments}}


def _of_use(block: dict[str, Any]) -> object:
    return _call({"id": block.get("id"), "name": block.get("name"), "arguments": block.get("input") or {}})


def _text(content: object) -> str:
    """The text of a tool's result: a text, or parts."""
    if isinstance(content, str):
        return content
    return foreign_text.joined(*(_part(one, Images(), None) for one in foreign_text.objects(content)))


def _part(part: dict[str, Any], images: Images, files: list[Attachment] | None) -> str:
    """A part as text; "" for an image that becomes one of `files`, and for thoughts and calls."""
    kind = part.get("type")
    if kind in (*THOUGHTS, "tool_use", "tool_result"):
        return ""
    if kind in ("image", "image_url", "input_image"):
        image = images.at_address("image", _address(part)) if files is not None and fit(files) else None
        if files is None or image is None:
            return foreign_text.image("image")
        files.append(image)
        return ""
    if kind in ("document", "file", "input_file", "input_audio"):
        inner = foreign_text.as_object(part.get("file"))
        return foreign_text.file(part.get("title") or part.get("filename") or inner.get("filename"))
    return foreign_text.stored(part.get("text") or part.get("refusal"))


def _address(part: dict[str, Any]) -> object:
    """The address of an image in OpenAI's two forms or in Anthropic's; None for another."""
    source = foreign_text.as_object(part.get("source"))
    if isinstance(source.get("data"), str) and isinstance(source.get("media_type"), str):
        return f"data:{source['media_type']};base64,{source['data']}"
    address = part.get("image_url")
    return address.get("url") if isinstance(address, dict) else address
