"""Reads a session of Claude Code: JSON lines, in which each block of a reply has a line of its own.

The files are `~/.claude/projects/<project>/<session>.jsonl`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages, branch, together
from conversations.exchange.json_stream import Entry

NAME = "a session of Claude Code"
LINES = "claude-code-lines"
"""The field of an entry that holds the lines of a session."""
ALONE = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
"""The kinds of lines without a session's id, each with a field that only it has."""
TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""The kinds of lines with a title, each with its field; later kinds win."""
SYNTHETIC = "<synthetic>"
"""The model of a reply that the program wrote itself, such as an error."""
_COMMAND = re.compile(r"<command-name>\s*(\S[^<]{0,200}?)\s*</command-name>")
_OUTPUT = re.compile(r"\s*<local-command-(?:stdout|stderr|caveat)>")


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; the lines of a session are one conversation."""
    return together(found, LINES, lambda value, begun: _is_line(value))


def recognises(data: object) -> bool:
    return isinstance(data, dict) and LINES in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The branch that ends with the last message, without thoughts, sub-agents and summaries. Raises Invalid."""
    lines = data[LINES]
    session = next((id for line in lines if (id := foreign_text.stored(line.get("sessionId")))), "")
    read = SessionMessages()
    for line in _branch(lines):
        _take(line, read)
    source = neutral.read_conversation({"title": _title(lines), "messages": read.messages()}, images)
    return replace(source, origin=f"claude-code:{session}"[:220] if session else "", may_be_empty=False)


def _is_line(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    return "sessionId" in value or ALONE.get(kind, "type ") in value


def _branch(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    chained = [line for line in lines if not line.get("isSidechain")]
    return branch(chained, "uuid", ("parentUuid", "logicalParentUuid"), _is_message)


def _is_message(line: dict[str, Any]) -> bool:
    return line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)


def _take(line: dict[str, Any], read: SessionMessages) -> None:
    if not _is_message(line) or line.get("isMeta") or (line.get("isCompactSummary") and read.is_begun):
        return
    message, at = line["message"], line.get("timestamp")
    content = message.get("content")
    if line["type"] == "user":
        read.add_blocks(content, at, _typed)
        return
    model = message.get("model")
    model = "" if model == SYNTHETIC else model
    reply = foreign_text.stored(message.get("id")) or line["uuid"]
    read.replied_in_blocks(reply, content, at, model=model)


def _typed(block: dict[str, Any]) -> dict[str, Any]:
    """The block of a person; a command as it was typed, and its output left out."""
    text = block.get("text")
    if not isinstance(text, str):
        return block
    if _OUTPUT.match(text):
        return block | {"text": ""}
    if command := _COMMAND.search(text):
        given, closing, _ = text.partition("<command-args>")[2].partition("</command-args>")
        return block | {"text": f"{command[1]} {given if closing else ''}".strip()}
    return block


def _title(lines: list[dict[str, Any]]) -> str:
    found = {kind: line.get(field) for kind, field in TITLES.items() for line in lines if line.get("type") == kind}
    return next((title for kind in reversed(TITLES) if (title := foreign_text.title(found.get(kind)))), "")
