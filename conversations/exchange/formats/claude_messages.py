"""Reads messages of Claude's export: blocks as text, tool calls and results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from conversations.exchange.document import ImportedCall, ImportedMessage, ImportedResult
from conversations.exchange.fields import read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.tool_calls import MAX_CALL_TEXT
from conversations.models import Message
from conversations.validation import MAX_CONTENT

ROLES = {"human": Message.Role.USER.value, "assistant": Message.Role.ASSISTANT.value}
UNKNOWN = "unknown"
"""The sender of a message that names none."""
LEFT_OUT = ("thinking", "redacted_thinking", "token_budget", "flag")
MAX_BLOCKS = 10_000
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".heic", ".svg", ".bmp")
PASTED = "pasted text"
ROOM_FOR_NAMES = 5_000
"""Characters of a message that the texts of its files leave to their names."""


@dataclass
class Segment:
    """The content of one line: text, then calls. Text after a call begins the next one."""

    role: str
    created_at: datetime | None
    texts: list[str] = field(default_factory=list)
    calls: list[ImportedCall] = field(default_factory=list)


class Reader:
    """Reads the messages of one conversation in order, and keeps the calls that are still unanswered."""

    def __init__(self) -> None:
        self.results: dict[int, ImportedResult] = {}
        self._calls = 0
        self._open: dict[str, int] = {}

    def lines(self, place: str, message: dict[str, Any]) -> Iterator[ImportedMessage]:
        """A line for each run of text and the calls after it; none for an empty message. Raises Invalid.

        A message of an unknown sender counts as a reply that begins with the sender.
        """
        sender = foreign_text.stored(message.get("sender")) or UNKNOWN
        role = ROLES.get(sender, Message.Role.ASSISTANT.value)
        date = foreign_text.date(message.get("created_at"))
        segment = Segment(role, date)
        for number, block in enumerate(_blocks(place, message)):
            kind, where = block.get("type"), f"{place}.content[{number}]"
            if kind == "tool_use" and role == Message.Role.ASSISTANT:
                segment.calls.append(self._call(where, block))
            elif kind == "tool_result":
                if not self._answers(block, date):
                    yield from _line(place, segment)
                    segment = Segment(role, date)
                    yield ImportedMessage(Message.Role.TOOL.value, foreign_text.cut(_result(block)), date)
            elif text := _text(block):
                if sender not in ROLES:
                    text = f"[{sender[:MAX_CALL_TEXT]}] {text}"
                if segment.calls:
                    yield from _line(place, segment)
                    segment = Segment(role, date)
                segment.texts.append(text)
        if files := _files(message, room=MAX_CONTENT - ROOM_FOR_NAMES - sum(map(len, segment.texts))):
            segment.texts.append(files)
        yield from _line(place, segment)

    def _call(self, place: str, block: dict[str, Any]) -> ImportedCall:
        self._calls += 1
        name = foreign_text.tool_name(block.get("name"))
        given = foreign_text.stored(block.get("id"))
        # An id that was used before would tie a result to two calls.
        fresh = 0 < len(given) <= MAX_CALL_TEXT and given not in self._open
        call_id = given if fresh else f"call-{self._calls}"
        self._open[given or call_id] = self._calls
        arguments = foreign_text.stored(json.dumps(block.get("input") or {}, ensure_ascii=False))
        return ImportedCall(self._calls, call_id, name, foreign_text.checked_text(f"{place}.input", arguments))

    def _answers(self, block: dict[str, Any], date: datetime | None) -> bool:
        """Store a block as the result of the call with its id, else of the first unanswered one; returns whether there
        is one.
        """
        given = block.get("tool_use_id")
        waiting = [number for number in self._open.values() if number not in self.results]
        number = self._open.get(given) if isinstance(given, str) and given else next(iter(waiting), None)
        if number is None or number in self.results:
            return False
        self.results[number] = ImportedResult(foreign_text.cut(_result(block)), date)
        return True


def _blocks(place: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a message; old exports have only its text."""
    raw = message.get("content") or []
    if isinstance(raw, str):
        return [{"type": "text", "text": raw}]
    listed = read_list(f"{place}.content", raw, limit=MAX_BLOCKS)
    blocks = [read_object(f"{place}.content[{at}]", block) for at, block in enumerate(listed) if block is not None]
    return blocks or [{"type": "text", "text": message.get("text")}]


def _line(place: str, segment: Segment) -> Iterator[ImportedMessage]:
    text = foreign_text.checked_text(place, foreign_text.joined(*segment.texts))
    if text.strip() or segment.calls:
        yield ImportedMessage(segment.role, text, segment.created_at, calls=tuple(segment.calls))


def _text(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind in LEFT_OUT:
        return ""
    if kind in ("image", "document"):
        name = block.get("file_name") or block.get("file_uuid")
        return foreign_text.image(name) if kind == "image" else foreign_text.file(name)
    if kind == "local_resource":
        return foreign_text.file(block.get("name") or block.get("file_path"))
    cited = [foreign_text.as_object(one.get("details")) | one for one in foreign_text.objects(block.get("citations"))]
    text, sources = foreign_text.stored(block.get("text")), foreign_text.links(cited)
    return f"{text} {sources}" if sources and text.strip() else text


def _result(block: dict[str, Any]) -> str:
    """A tool's result as text, from a text, or a list of texts, found pages and images."""
    content = block.get("content")
    parts = [_found(part) for part in foreign_text.objects(content)]
    return foreign_text.stored(content) or foreign_text.joined(*parts)


def _found(part: dict[str, Any]) -> str:
    named = part | foreign_text.as_object(part.get("link"))
    lines = [foreign_text.stored(named.get(name)) for name in ("title", "url")]
    return "\n".join(line for line in (*lines, _text(part)) if line)


def _files(message: dict[str, Any], *, room: int) -> str:
    """The text of attached files, cut to `room` characters in all, and the names of other files."""
    texts = []
    for attachment in foreign_text.objects(message.get("attachments")):
        name = foreign_text.file(attachment.get("file_name") or PASTED)
        content = foreign_text.cut(foreign_text.stored(attachment.get("extracted_content")), limit=room)
        room -= len(content)
        texts.append(f"{name}\n{content}" if content.strip() else name)
    for entry in foreign_text.objects(message.get("files") or message.get("files_v2")):
        name, kind = foreign_text.stored(entry.get("file_name")), entry.get("file_kind")
        texts.append(
            (foreign_text.image if kind == "image" or name.lower().endswith(IMAGES) else foreign_text.file)(name)
        )
    return foreign_text.joined(*texts)
