"""Reads a session of Cline: Anthropic's messages, with the program's own marks around the words of the person.

The files are `~/.cline/data/sessions/<session>/<session>.messages.json`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages

NAME = "a session of Cline"
_MARK = re.compile(r"</?user_input\b[^<>]{0,100}>")


def recognises(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("messages"), list) and {"sessionId", "agent"} <= data.keys()


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The messages with their calls and results, without thoughts. Raises Invalid."""
    read = SessionMessages()
    for place, message in enumerate(foreign_text.objects(data["messages"])):
        _take(message, read, reply=str(place))
    source = neutral.read_conversation({"messages": read.messages()}, images)
    session = foreign_text.stored(data["sessionId"])
    return replace(source, origin=f"cline:{session}"[:220] if session else "", may_be_empty=False)


def _take(message: dict[str, Any], read: SessionMessages, *, reply: str) -> None:
    if message.get("role") == "user":
        read.add_blocks(message.get("content"), message.get("ts"), _typed)
    else:
        model = foreign_text.as_object(message.get("modelInfo")).get("id")
        read.replied_in_blocks(reply, message.get("content"), message.get("ts"), model=model)


def _typed(block: dict[str, Any]) -> dict[str, Any]:
    text = block.get("text")
    return block | {"text": _MARK.sub("", text)} if isinstance(text, str) else block
