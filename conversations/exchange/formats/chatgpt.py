"""Reads ChatGPT's export: a tree of messages for each conversation, and the last shown branch is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from conversations.exchange.document import ImportedCall, ImportedMessage, ImportedResult, ImportedSource
from conversations.exchange.fields import fault, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.chatgpt_messages import ShownMessage, instructions_in, shown_message
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.instructions import with_instructions
from conversations.exchange.formats.tree import latest_leaf, parents_in, path, read_nodes
from conversations.models import Message
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS

NAME = "ChatGPT's export"
Role = Message.Role


def recognises(data: object) -> bool:
    """Whether a value is a conversation of the export; an empty shell has only an id."""
    return isinstance(data, dict) and ("mapping" in data or ("conversation_id" in data and "messages" not in data))


def read_conversation(data: dict[str, Any], images: Images | None = None) -> ImportedSource:
    """The conversation, without hidden, empty and reasoning messages. Raises Invalid, naming the place."""
    messages = _branch(data)
    slug = foreign_text.stored(data.get("default_model_slug"))
    images = images or Images()
    shown = [one for place, message in messages if (one := shown_message(place, message, images, model=slug))]
    opening = [one for one in shown[:1] if one.role == Role.SYSTEM]
    lines, results = _lines(shown[len(opening) :])
    id = foreign_text.stored(data.get("conversation_id") or data.get("id"))
    return ImportedSource(
        title=foreign_text.title(data.get("title")),
        system_prompt=_system_prompt(messages, opening),
        lines=with_instructions(lines),
        results=results,
        id=id or None,
        origin=f"chatgpt:{id}"[:220] if id else "",
        started=foreign_text.date(data.get("create_time")),
        updated=foreign_text.date(data.get("update_time")),
        may_be_empty=False,
        fields={"archived": True} if data.get("is_archived") is True else {},
    )


def _branch(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages from the root to the current node, with their places."""
    nodes = read_nodes(data.get("mapping"))
    if not nodes:
        return []
    parents = parents_in(nodes)
    leaf = data.get("current_node")
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = latest_leaf(parents, {name: _date(node) for name, node in nodes.items()}, place="mapping")
    found = ((_place(name), nodes[name].get("message")) for name in path(parents, leaf, place="mapping"))
    return [(place, read_object(place, message)) for place, message in found if message is not None]


def _place(name: str) -> str:
    return f"mapping.{name[:60]}.message"


def _date(node: dict[str, Any]) -> datetime | None:
    return foreign_text.date(foreign_text.as_object(node.get("message")).get("create_time"))


def _system_prompt(messages: Iterable[tuple[str, dict[str, Any]]], opening: Iterable[ShownMessage]) -> str:
    """The text of a system message at the beginning, and the last custom instructions."""
    custom = [text for _, message in messages if (text := instructions_in(message))]
    text = foreign_text.joined(*(one.text for one in opening), *custom[-1:])
    if len(text) > MAX_SYSTEM_PROMPT_CHARS:
        raise fault(
            "mapping", f"custom instructions have at most {MAX_SYSTEM_PROMPT_CHARS:,} characters, not {len(text):,}."
        )
    return text


def _lines(shown: list[ShownMessage]) -> tuple[tuple[ImportedMessage, ...], dict[int, ImportedResult]]:
    """The lines; a request to a tool and its answer right after it become a call with its result, other ones text."""
    lines: list[ImportedMessage] = []
    results: dict[int, ImportedResult] = {}
    answered = False
    for one, following in _with_next(shown):
        if answered:
            answered = False
        elif following and one.is_answered_by(following):
            call = ImportedCall(len(results), f"call-{len(results) + 1}", one.recipient, one.text)
            results[call.number] = ImportedResult(following.text, following.created_at)
            lines.append(ImportedMessage(Role.ASSISTANT.value, "", one.created_at, calls=(call,), model=one.model))
            answered = True
        elif one.text.strip() or one.files:
            lines.append(_line(one))
    return tuple(lines), results


def _with_next(shown: list[ShownMessage]) -> Iterator[tuple[ShownMessage, ShownMessage | None]]:
    yield from pairwise(shown)
    yield from ((one, None) for one in shown[-1:])


def _line(one: ShownMessage) -> ImportedMessage:
    content = f"[Call of {one.recipient}]\n{one.text}" if one.recipient else one.text
    return ImportedMessage(one.role, content, one.created_at, model=one.model, files=one.files)
