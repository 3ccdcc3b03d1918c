"""Reads a session of Gemini CLI: JSON lines of messages and of changes to them. Older versions wrote one document.

The files are `~/.gemini/tmp/<project>/chats/session-<date>-<session>.jsonl`, or `.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages, image_part, together
from conversations.exchange.json_stream import Entry

NAME = "a session of Gemini CLI"
LINES = "gemini-cli-lines"
"""The field of an entry that holds the lines of a session."""
SUMMARY = "<state_snapshot>"
"""The beginning of the summary that stands in place of earlier messages."""


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; the lines of a session are one conversation."""
    return together(found, LINES, _belongs)


def recognises(data: object) -> bool:
    return isinstance(data, dict) and LINES in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The messages with their calls and results, without thoughts and summaries. Raises Invalid."""
    lines = data[LINES]
    session = foreign_text.stored(lines[0].get("sessionId"))
    read = SessionMessages()
    for message in _messages(lines):
        _take(message, read)
    source = neutral.read_conversation({"messages": read.messages()}, images)
    return replace(source, origin=f"gemini-cli:{session}"[:220] if session else "", may_be_empty=False)


def _belongs(value: object, begun: bool) -> bool:
    if not isinstance(value, dict):
        return False
    if {"sessionId", "projectHash"} <= value.keys():
        return True
    return begun and ("$set" in value or "$rewindTo" in value or {"id", "timestamp", "type"} <= value.keys())


def _messages(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as the lines leave them. Those that a summary replaced are kept."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        if isinstance(rewound := line.get("$rewindTo"), str):
            while rewound in found:
                found.popitem()
        elif isinstance(line.get("id"), str):
            found[line["id"]] = line
        else:
            held = foreign_text.as_object(line.get("$set", line)).get("messages")
            listed = [one for one in foreign_text.objects(held) if isinstance(one.get("id"), str)]
            if not isinstance(held, list) or (found and _is_summarised(listed)):
                continue
            found = {one["id"]: one for one in listed}
    return list(found.values())


def _is_summarised(messages: list[dict[str, Any]]) -> bool:
    return any(
        foreign_text.stored(part.get("text")).lstrip().startswith(SUMMARY)
        for message in messages
        for part in _parts(message)
    )


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"text": content}] if isinstance(content, str) else foreign_text.objects(content)


def _take(message: dict[str, Any], read: SessionMessages) -> None:
    at, model, reply = message.get("timestamp"), message.get("model"), message["id"]
    if message.get("type") not in ("user", "gemini"):
        return
    typed: list[dict[str, Any]] = []
    for part in _parts(message):
        if isinstance(result := part.get("functionResponse"), dict):
            read.answered(result.get("id"), result.get("response"), at)
        elif isinstance(call := part.get("functionCall"), dict):
            read.called(reply, call.get("id"), call.get("name"), call.get("args"), at, model=model)
        elif message["type"] == "user":
            inline = foreign_text.as_object(part.get("inlineData"))
            typed.append(image_part(inline.get("mimeType"), inline.get("data")) if inline else part)
        elif not part.get("thought") and (text := foreign_text.stored(part.get("text"))):
            read.replied(reply, text, at, model=model)
    read.add_message(typed, at)
    calls = foreign_text.objects(message.get("toolCalls"))
    for call in calls:
        read.called(reply, call.get("id"), call.get("name"), call.get("args"), at, model=model)
    for call in calls:
        for part in foreign_text.objects(call.get("result")):
            if isinstance(result := part.get("functionResponse"), dict):
                read.answered(result.get("id"), result.get("response"), call.get("timestamp"))
