"""Reads a session of opencode, as `opencode export <session>` writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages

NAME = "a session of opencode"
UNTITLED = "New session - "
"""The beginning of the title of a session without one of its own."""


def recognises(data: object) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        return False
    return isinstance(info := data.get("info"), dict) and {"id", "time"} <= info.keys() and "format" not in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The messages with their calls and results, without thoughts and summaries. Raises Invalid."""
    read = SessionMessages()
    for place, message in enumerate(foreign_text.objects(data["messages"])):
        _take(message, read, reply=str(place))
    info = data["info"]
    title = foreign_text.title(info.get("title"))
    title = "" if title.startswith(UNTITLED) else title
    source = neutral.read_conversation({"title": title, "messages": read.messages()}, images)
    session = foreign_text.stored(info["id"])
    return replace(source, origin=f"opencode:{session}"[:220] if session else "", may_be_empty=False)


def _take(message: dict[str, Any], read: SessionMessages, *, reply: str) -> None:
    info, parts = foreign_text.as_object(message.get("info")), foreign_text.objects(message.get("parts"))
    at = foreign_text.as_object(info.get("time")).get("created")
    if info.get("role") == "user":
        read.add_message([typed for part in parts if (typed := _typed(part))], at)
    elif info.get("role") == "assistant" and info.get("summary") is not True:
        _take_reply(parts, at, read, reply=reply, model=info.get("modelID"))


def _typed(part: dict[str, Any]) -> dict[str, Any] | None:
    """A part of the person's; None for text of the program's and parts of other kinds."""
    match part.get("type"):
        case "text" if not part.get("synthetic") and not part.get("ignored"):
            return part
        case "file" if foreign_text.stored(part.get("mime")).startswith("image/"):
            return {"type": "image_url", "image_url": {"url": part.get("url")}}
        case "file":
            return {"type": "text", "text": foreign_text.file(part.get("filename"))}
    return None


def _take_reply(parts: list[dict[str, Any]], at: object, read: SessionMessages, *, reply: str, model: object) -> None:
    for part in parts:
        state = foreign_text.as_object(part.get("state"))
        if part.get("type") == "tool":
            read.called(reply, part.get("callID"), part.get("tool"), state.get("input"), at, model=model)
        elif part.get("type") == "text" and (text := foreign_text.stored(part.get("text"))):
            read.replied(reply, text, at, model=model)
    for part in parts:
        state = foreign_text.as_object(part.get("state"))
        if part.get("type") == "tool" and state.get("status") in ("completed", "error"):
            ended = foreign_text.as_object(state.get("time")).get("end")
            read.answered(part.get("callID"), state.get("output", state.get("error")), ended)
