"""Reads Claude's export: messages of blocks, in branches: the one that was written last is taken."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.fields import fault, read_date, read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.claude_messages import Reader
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path
from conversations.validation import clean_text

NAME = "Claude's export"
MAX_ID = 200


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "chat_messages" in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The conversation, without empty messages and thinking. Raises Invalid, naming the place."""
    reader = Reader()
    id = foreign_text.stored(data.get("uuid"))
    lines = tuple(line for place, message in _branch(data) for line in reader.lines(place, message))
    return ImportedSource(
        title=foreign_text.title(data.get("name")),
        system_prompt="",
        lines=lines,
        results=reader.results,
        id=id or None,
        origin=f"claude:{id}"[:220] if id else "",
        started=read_date("created_at", data.get("created_at")),
        updated=read_date("updated_at", data.get("updated_at")),
        may_be_empty=False,
    )


def _branch(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages with their places: in the file's order, or along the parents if the file names any.

    The first message of a branch names a parent that is not in the file.
    """
    raw = read_list("chat_messages", data.get("chat_messages"), limit=MAX_MESSAGES)
    places = [f"chat_messages[{number}]" for number in range(len(raw))]
    found = [(place, read_object(place, message)) for place, message in zip(places, raw, strict=True)]
    by_id = _by_id(found)
    if not any(message.get("parent_message_uuid") for _, message in found):
        return found
    parents = {id: _parent(*one) for id, one in by_id.items()}
    leaf = data.get("current_leaf_message_uuid")
    if not isinstance(leaf, str) or leaf not in by_id:
        leaf = latest_leaf(parents, {id: _date(*one) for id, one in by_id.items()}, place="chat_messages")
    return [by_id[id] for id in path(parents, leaf, place="chat_messages")]


def _by_id(found: list[tuple[str, dict[str, Any]]]) -> dict[str, tuple[str, dict[str, Any]]]:
    by_id: dict[str, tuple[str, dict[str, Any]]] = {}
    for place, message in found:
        id = clean_text(f"{place}.uuid", message.get("uuid"), limit=MAX_ID)
        if id in by_id:
            raise fault(f"{place}.uuid", f"the message id {id!r} appears twice.")
        by_id[id] = place, message
    return by_id


def _parent(place: str, message: dict[str, Any]) -> str | None:
    parent = message.get("parent_message_uuid")
    if parent is not None and not isinstance(parent, str):
        raise fault(f"{place}.parent_message_uuid", "must be text.")
    return parent


def _date(place: str, message: dict[str, Any]) -> datetime | None:
    return read_date(f"{place}.created_at", message.get("created_at"))
