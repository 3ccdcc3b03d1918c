"""Reads the projects of Claude's export: each becomes a chat with its documents, and its instructions are proposed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.models import Message

NAME = "a project of Claude's export"
MAX_DOCUMENTS = 10_000


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "prompt_template" in data and "docs" in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The project as a conversation without replies. Raises Invalid, naming the place."""
    id = foreign_text.stored(data.get("uuid"))
    return ImportedSource(
        title=foreign_text.title(data.get("name")),
        system_prompt=foreign_text.instructions("prompt_template", data.get("prompt_template")),
        lines=tuple(_lines(data)),
        results={},
        id=id or None,
        origin=f"claude-project:{id}"[:220] if id else "",
        started=foreign_text.date(data.get("created_at")),
        updated=foreign_text.date(data.get("updated_at")),
        may_be_empty=False,
    )


def _lines(data: dict[str, Any]) -> Iterator[ImportedMessage]:
    """A message with the description, and one with each document."""
    role, date = Message.Role.USER.value, foreign_text.date(data.get("created_at"))
    if description := foreign_text.stored(data.get("description")).strip():
        yield ImportedMessage(role, foreign_text.checked_text("description", description), date)
    for number, entry in enumerate(read_list("docs", data.get("docs") or [], limit=MAX_DOCUMENTS)):
        place = f"docs[{number}]"
        document = read_object(place, entry)
        named = foreign_text.file(document.get("filename"))
        text = foreign_text.joined(named, foreign_text.stored(document.get("content")))
        yield ImportedMessage(role, foreign_text.cut(text), foreign_text.date(document.get("created_at")) or date)
