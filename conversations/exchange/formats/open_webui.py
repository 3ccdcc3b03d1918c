"""Reads Open WebUI's export: a tree of messages for each chat, and the branch that was shown last is taken."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import fault, read_list, read_object, read_timestamp
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.foreign_images import Images, fit
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path
from conversations.models import Attachment, Message

NAME = "Open WebUI's export"
ROLES = tuple(Message.Role.values)
MILLISECONDS = 100_000_000_000
"""Dates from this number on are in milliseconds."""
_OPENING = re.compile(r"<details\b([^<>]{0,200000})>")
_CLOSING = "</details>"
_ATTRIBUTE = re.compile(r'([a-z_]{1,40})="([^"]*)"')
LEFT_OUT = ("reasoning",)


def recognises(data: object) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("chat"), dict):
        return False
    return "history" in data["chat"] or "messages" in data["chat"]


def read_conversation(data: dict[str, Any], images: Images | None = None) -> ImportedSource:
    """The conversation, without reasoning and empty messages. Raises Invalid, naming the place."""
    chat = data["chat"]
    id = foreign_text.stored(data.get("id") or chat.get("id"))
    params = foreign_text.as_object(chat.get("params"))
    return ImportedSource(
        title=foreign_text.title(data.get("title") or chat.get("title")),
        system_prompt=foreign_text.instructions("chat", chat.get("system") or params.get("system")),
        lines=tuple(_lines(chat, images or Images())),
        results={},
        id=id or None,
        origin=f"open-webui:{id}"[:220] if id else "",
        started=_date("created_at", data.get("created_at") or chat.get("timestamp")),
        updated=_date("updated_at", data.get("updated_at")),
        may_be_empty=False,
    )


def _lines(chat: dict[str, Any], images: Images) -> Iterator[ImportedMessage]:
    for place, message in _branch(chat):
        named = foreign_text.stored(message.get("role"))
        role = named if named in ROLES else Message.Role.ASSISTANT.value
        files, names = _files(message, images) if role == Message.Role.USER else ((), [])
        words = "\n".join(filter(None, shown_parts(foreign_text.stored(_text(message.get("content"))))))
        text = foreign_text.checked_text(f"{place}.content", foreign_text.joined(words, *names))
        if text.strip() or files:
            is_reply = role == Message.Role.ASSISTANT
            model = foreign_text.stored(message.get("model") or message.get("modelName"))[:200] if is_reply else ""
            date = _date(f"{place}.timestamp", message.get("timestamp"))
            yield ImportedMessage(role, text, date, model=model, files=files, is_protected=role == Message.Role.SYSTEM)


def _branch(chat: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages of the shown branch with their places; old exports have only a list of them."""
    history = foreign_text.as_object(chat.get("history"))
    tree = history.get("messages")
    if not isinstance(tree, dict) or not tree:
        found = enumerate(read_list("chat.messages", chat.get("messages") or [], limit=MAX_MESSAGES))
        return [(f"chat.messages[{at}]", read_object(f"chat.messages[{at}]", one)) for at, one in found]
    if len(tree) > MAX_MESSAGES:
        raise fault("chat.history.messages", f"at most {MAX_MESSAGES:,}, not {len(tree):,}.")
    nodes = {name: read_object(_place(name), node) for name, node in tree.items()}
    parents = {name: _parent(node) for name, node in nodes.items()}
    leaf = history.get("currentId")
    if not isinstance(leaf, str) or leaf not in nodes:
        dates = {name: _date(f"{_place(name)}.timestamp", node.get("timestamp")) for name, node in nodes.items()}
        leaf = latest_leaf(parents, dates, place="chat.history.messages")
    return [(_place(name), nodes[name]) for name in path(parents, leaf, place="chat.history.messages")]


def _place(name: str) -> str:
    return f"chat.history.messages.{name[:60]}"


def _parent(node: dict[str, Any]) -> str | None:
    parent = node.get("parentId")
    return parent if isinstance(parent, str) else None


def _date(place: str, value: object) -> datetime | None:
    is_long = isinstance(value, int | float) and not isinstance(value, bool) and value >= MILLISECONDS
    return read_timestamp(place, value / 1000 if is_long else value)  # type: ignore[operator]


def _text(content: object) -> object:
    if not isinstance(content, list):
        return content
    return "\n\n".join(foreign_text.stored(part.get("text")) for part in foreign_text.objects(content))


def _files(message: dict[str, Any], images: Images) -> tuple[tuple[Attachment, ...], list[str]]:
    """(images of a message, the names of its other files and of images whose bytes are not in the export)."""
    found: list[Attachment] = []
    names: list[str] = []
    for entry in foreign_text.objects(message.get("files")):
        inner = foreign_text.as_object(entry.get("file"))
        name = entry.get("name") or inner.get("filename") or ("image" if entry.get("type") == "image" else "")
        if entry.get("type") != "image":
            names.append(foreign_text.file(name))
        elif fit(found) and (image := images.at_address(foreign_text.stored(name), entry.get("url"))):
            found.append(image)
        else:
            names.append(foreign_text.image(name))
    return tuple(found), names


def shown_parts(text: str) -> Iterator[str]:
    """The parts of a reply; uses of tools, which stand in it as HTML, as text, and without reasoning."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        given = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(opening[1])}
        kind = given.get("type", "")
        yield text[at : opening.start()].strip()
        if kind == "tool_calls":
            result = f"\n{given['result']}" if given.get("result") else ""
            yield foreign_text.cut(f"[Call of {given.get('name') or 'a tool'}] {given.get('arguments', '')}{result}\n")
        elif kind not in LEFT_OUT:
            yield text[opening.start() : end + len(_CLOSING)]
        at = end + len(_CLOSING)
    yield text[at:].strip()
