"""Reads Claude's export: messages of blocks, in branches: the one that was written last is taken."""

from __future__ import annotations

from typing import Any

from conversations.exchange.document import ImportedSource
from conversations.exchange.fields import read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.claude_messages import Reader
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path

NAME = "Claude's export"


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
        started=foreign_text.date(data.get("created_at")),
        updated=foreign_text.date(data.get("updated_at")),
        may_be_empty=False,
        fields={"pinned": True} if data.get("is_starred") is True else {},
    )


def _branch(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages with their places: along the parents if the file names any, else in its order, as they come without
    ids of their own.

    The first message of a branch names a parent that is not in the file.
    """
    listed = data.get("chat_messages")
    raw = read_list("chat_messages", [] if listed is None else listed, limit=MAX_MESSAGES)
    places = [f"chat_messages[{number}]" for number in range(len(raw))]
    found = [(place, read_object(place, message)) for place, message in zip(places, raw, strict=True)]
    by_id = {id: one for one in found if (id := foreign_text.stored(one[1].get("uuid")))}
    parents = {id: foreign_text.stored(one.get("parent_message_uuid")) or None for id, (_, one) in by_id.items()}
    if len(by_id) < len(found) or not any(parents.values()):
        return found
    leaf = data.get("current_leaf_message_uuid")
    if not isinstance(leaf, str) or leaf not in by_id:
        dates = {id: foreign_text.date(one.get("created_at")) for id, (_, one) in by_id.items()}
        leaf = latest_leaf(parents, dates, place="chat_messages")
    return [by_id[id] for id in path(parents, leaf, place="chat_messages")]
