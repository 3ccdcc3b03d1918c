"""Reads DeepSeek's export: a tree of messages for each conversation, with the texts in fragments.

Exports of before 2025-09 have a `content` instead, and name no roles: people and the model take turns.
"""

from __future__ import annotations

from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.tree import latest_leaf, parents_in, path, read_nodes
from conversations.models import Message

NAME = "DeepSeek's export"
REQUEST, ANSWER = "REQUEST", "RESPONSE"
"""The fragments with the words of a person and of the model; those of thoughts and searches are left out."""


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "mapping" in data and "inserted_at" in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The branch with the latest last message, without thoughts. Raises Invalid, naming the place."""
    id = foreign_text.stored(data.get("id"))
    lines: list[ImportedMessage] = []
    for place, message in _branch(data):
        line = _line(place, message, before=lines[-1].role if lines else "")
        if line.content.strip():
            lines.append(line)
    return ImportedSource(
        title=foreign_text.title(data.get("title")),
        system_prompt="",
        lines=tuple(lines),
        results={},
        id=id or None,
        origin=f"deepseek:{id}"[:220] if id else "",
        started=foreign_text.date(data.get("inserted_at")),
        updated=foreign_text.date(data.get("updated_at")),
        may_be_empty=False,
    )


def _branch(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages of the branch with their places."""
    nodes = read_nodes(data.get("mapping"))
    if not nodes:
        return []
    places = {name: f"mapping.{name[:60]}.message" for name in nodes}
    said = {name: foreign_text.as_object(node.get("message")) for name, node in nodes.items()}
    dates = {name: foreign_text.date(one.get("inserted_at")) for name, one in said.items()}
    parents = parents_in(nodes)
    names = path(parents, latest_leaf(parents, dates, place="mapping"), place="mapping")
    return [(places[name], said[name]) for name in names if said[name]]


def _line(place: str, message: dict[str, Any], *, before: str) -> ImportedMessage:
    fragments = foreign_text.objects(message.get("fragments"))
    kinds = [foreign_text.stored(one.get("type")).upper() for one in fragments]
    words = [one.get("content") for one, kind in zip(fragments, kinds, strict=True) if kind in (REQUEST, ANSWER)]
    if fragments:
        is_person = REQUEST in kinds
    else:
        words, is_person = [message.get("content")], before != Message.Role.USER
    files = [foreign_text.file(one.get("file_name")) for one in foreign_text.objects(message.get("files"))]
    text = foreign_text.joined(*map(foreign_text.stored, words), *files)
    return ImportedMessage(
        Message.Role.USER.value if is_person else Message.Role.ASSISTANT.value,
        foreign_text.checked_text(place, text),
        foreign_text.date(message.get("inserted_at")),
        model="" if is_person else foreign_text.stored(message.get("model"))[:200],
    )
