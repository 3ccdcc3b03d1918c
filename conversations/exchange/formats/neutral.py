"""Reads the neutral form: a title and messages, one conversation a file. Other fields are ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conversations.context.system_prompt import clean_system_prompt
from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import fault, read_kind, read_text
from conversations.exchange.formats.messages import Reader
from conversations.models import Message
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS, MAX_TITLE_CHARS

NAME = "a conversation with a title and messages"


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "messages" in data and "format" not in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    reader = Reader()
    lines = list(reader.read(data["messages"]))
    system_prompt = ""
    if lines and lines[0].role == Message.Role.SYSTEM:
        system_prompt = _system_prompt(lines.pop(0))
    return ImportedSource(
        title=read_text("title", data.get("title"), limit=MAX_TITLE_CHARS),
        system_prompt=system_prompt,
        lines=tuple(_pinned(line) for line in lines),
        results=reader.results,
        fields={"kind": read_kind("kind", data["kind"])} if "kind" in data else {},
    )


def _system_prompt(line: ImportedMessage) -> str:
    if len(line.content) > MAX_SYSTEM_PROMPT_CHARS:
        raise fault("messages[0].content", f"a system prompt has at most {MAX_SYSTEM_PROMPT_CHARS:,} characters.")
    return clean_system_prompt(line.content)


def _pinned(line: ImportedMessage) -> ImportedMessage:
    """A later system message is protected: it is an instruction that no summary may replace."""
    return replace(line, is_protected=True) if line.role == Message.Role.SYSTEM else line
