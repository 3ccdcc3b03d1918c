"""Exports a conversation as one HTML file, or as a page to print: words, formulas, code, images, calls of tools."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from uuid import UUID

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from conversations.exchange.attachments import bytes_to_tell
from conversations.exchange.exports import history_of
from conversations.exchange.markdown import steps_of
from conversations.models import Attachment, Conversation, Message

STYLES = "exported.css"
MESSAGES = "<!-- messages -->"
"""The place of the messages in the frame."""


def as_html(conversation: Conversation, *, to_print: bool = False) -> Iterator[str]:
    """The parts of the file. The page to print has the same, with a script that opens the browser's dialog."""
    messages = list(history_of(conversation))
    images, steps = bytes_to_tell(messages), steps_of(conversation, messages)
    context = {"conversation": conversation, "count": len(messages), "to_print": to_print}
    frame = render_to_string("exported/frame.html", context | {"styles": "" if to_print else _styles()})
    head, _, foot = frame.partition(MESSAGES)
    yield head
    day = None
    for message in messages:
        is_new_day, day = message.created_at.date() != day, message.created_at.date()
        calls = [(call, steps.get(call.pk, ())) for call in message.tool_calls.all()]
        part = {"message": message, "calls": calls, "files": _files(message, images), "is_new_day": is_new_day}
        yield render_to_string("exported/message.html", part)
    yield foot


def _files(message: Message, images: Mapping[UUID, bytes]) -> list[tuple[Attachment, str]]:
    """The files of a message; an image whose bytes are there has an address of data."""
    return [(file, _address(file, images.get(file.pk))) for file in message.attachments.all()]


def _address(file: Attachment, data: bytes | None) -> str:
    return f"data:{file.media_type};base64,{b64encode(data).decode()}" if data else ""


@cache
def _styles() -> str:
    return Path(str(finders.find(STYLES))).read_text(encoding="utf-8")
