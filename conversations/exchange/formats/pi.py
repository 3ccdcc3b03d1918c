"""Reads a session of pi: JSON lines of messages, calls of tools and their results.

The files are `~/.pi/agent/sessions/<project>/<date>_<session>.jsonl`.
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

NAME = "a session of pi"
LINES = "pi-lines"
"""The field of an entry that holds the lines of a session."""
ROLES = ("user", "assistant", "toolResult")
"""The roles of messages that are read; the others are commands of the person's own and summaries."""


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; the lines of a session are one conversation."""
    return together(found, LINES, _belongs)


def recognises(data: object) -> bool:
    return isinstance(data, dict) and LINES in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The branch that ends with the last message, without thoughts and summaries. Raises Invalid."""
    lines = data[LINES]
    session = next((foreign_text.stored(line.get("id")) for line in lines if line.get("type") == "session"), "")
    titles = [foreign_text.title(line.get("name")) for line in lines if line.get("type") == "session_info"]
    read = SessionMessages()
    for line in branch(lines, "id", ("parentId",), _is_message):
        if _is_message(line):
            _take(line, read)
    source = neutral.read_conversation({"title": titles[-1] if titles else "", "messages": read.messages()}, images)
    return replace(source, origin=f"pi:{session}"[:220] if session else "", may_be_empty=False)


def _belongs(value: object, begun: bool) -> bool:
    if not isinstance(value, dict):
        return False
    is_head = value.get("type") == "session" and {"id", "timestamp", "cwd"} <= value.keys()
    return is_head or (begun and {"type", "id", "parentId", "timestamp"} <= value.keys())


def _is_message(line: dict[str, Any]) -> bool:
    message = line.get("message")
    return line.get("type") == "message" and isinstance(message, dict) and message.get("role") in ROLES


def _take(line: dict[str, Any], read: SessionMessages) -> None:
    message, at = line["message"], line.get("timestamp")
    content, model = message.get("content"), message.get("model")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else foreign_text.objects(content)
    if message["role"] == "toolResult":
        read.answered(message.get("toolCallId"), parts, at)
    elif message["role"] == "user":
        read.add_message([_typed(part) for part in parts], at)
    else:
        for part in parts:
            if part.get("type") == "toolCall":
                read.called(line["id"], part.get("id"), part.get("name"), part.get("arguments"), at, model=model)
            elif text := foreign_text.stored(part.get("text")):
                read.replied(line["id"], text, at, model=model)


def _typed(part: dict[str, Any]) -> dict[str, Any]:
    return image_part(part.get("mimeType"), part.get("data")) if part.get("type") == "image" else part
