"""Reads a session of Qwen Code: JSON lines of messages in Gemini's form, with the program's notes between them.

The files are `~/.qwen/projects/<project>/chats/<session>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages, branch, image_part, together
from conversations.exchange.json_stream import Entry

NAME = "a session of Qwen Code"
LINES = "qwen-code-lines"
"""The field of an entry that holds the lines of a session."""


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; the lines of a session are one conversation."""
    return together(found, LINES, lambda value, begun: _is_line(value))


def recognises(data: object) -> bool:
    return isinstance(data, dict) and LINES in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The branch that ends with the last message, without thoughts and summaries. Raises Invalid."""
    lines = data[LINES]
    session = next((id for line in lines if (id := foreign_text.stored(line.get("sessionId")))), "")
    read = SessionMessages()
    for line in branch(lines, "uuid", ("parentUuid",), _is_message):
        _take(line, read)
    source = neutral.read_conversation({"messages": read.messages()}, images)
    return replace(source, origin=f"qwen-code:{session}"[:220] if session else "", may_be_empty=False)


def _is_line(value: object) -> bool:
    if not isinstance(value, dict) or not {"uuid", "sessionId", "type"} <= value.keys():
        return False
    return "systemPayload" in value or "parts" in foreign_text.as_object(value.get("message"))


def _is_message(line: dict[str, Any]) -> bool:
    return bool(_parts(line))


def _parts(line: dict[str, Any]) -> list[dict[str, Any]]:
    return foreign_text.objects(foreign_text.as_object(line.get("message")).get("parts"))


def _take(line: dict[str, Any], read: SessionMessages) -> None:
    at, model, reply = line.get("timestamp"), line.get("model"), line["uuid"]
    typed: list[dict[str, Any]] = []
    for part in _parts(line):
        if isinstance(call := part.get("functionCall"), dict):
            read.called(reply, call.get("id"), call.get("name"), call.get("args"), at, model=model)
        elif isinstance(result := part.get("functionResponse"), dict):
            read.answered(result.get("id"), result.get("response"), at)
        elif line.get("type") == "assistant":
            if not part.get("thought") and (text := foreign_text.stored(part.get("text"))):
                read.replied(reply, text, at, model=model)
        elif line.get("type") == "user":
            inline = foreign_text.as_object(part.get("inlineData"))
            typed.append(image_part(inline.get("mimeType"), inline.get("data")) if inline else part)
    read.add_message(typed, at)
