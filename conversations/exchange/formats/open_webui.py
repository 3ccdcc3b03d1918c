"""Reads Open WebUI's export: a tree of messages for each chat, and the branch that was shown last is taken."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import fault, read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.foreign_images import Images, fit
from conversations.exchange.formats.instructions import with_instructions
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path
from conversations.models import Attachment, Message
from conversations.validation import MAX_CONTENT

NAME = "Open WebUI's export"
ROLES = tuple(Message.Role.values)
_OPENING = re.compile(r"<details\b([^<>]{0,200000})>")
_CLOSING = "</details>"
_ATTRIBUTE = re.compile(r'([a-z_]{1,40})="([^"]*)"')
_SUMMARY = re.compile(r"<summary>[^<]{0,1000}</summary>")
LEFT_OUT = ("reasoning",)
MAX_SOURCES = 100
ROOM_FOR_NAMES = 5_000
"""Characters of a message that the texts of its files leave to their names."""


def recognises(data: object) -> bool:
    """Whether a value is a chat of the export; an empty shell has only a `chat`."""
    return isinstance(data, dict) and "chat" in data and (isinstance(data["chat"], dict) or data["chat"] is None)


def read_conversation(data: dict[str, Any], images: Images | None = None) -> ImportedSource:
    """The conversation, without reasoning and empty messages. Raises Invalid, naming the place."""
    chat = foreign_text.as_object(data["chat"])
    id = foreign_text.stored(data.get("id") or chat.get("id"))
    params = foreign_text.as_object(chat.get("params"))
    return ImportedSource(
        title=foreign_text.title(data.get("title") or chat.get("title")),
        system_prompt=foreign_text.instructions("chat", chat.get("system") or params.get("system")),
        lines=with_instructions(_lines(chat, images or Images())),
        results={},
        id=id or None,
        origin=f"open-webui:{id}"[:220] if id else "",
        started=foreign_text.date(data.get("created_at") or chat.get("timestamp")),
        updated=foreign_text.date(data.get("updated_at")),
        may_be_empty=False,
        fields={name: True for name in ("pinned", "archived") if data.get(name) is True},
    )


def _lines(chat: dict[str, Any], images: Images) -> Iterator[ImportedMessage]:
    for place, message in _branch(chat):
        named = foreign_text.stored(message.get("role"))
        role = named if named in ROLES else Message.Role.ASSISTANT.value
        files, names = _files(message, images) if role == Message.Role.USER else ((), [])
        is_reply = role == Message.Role.ASSISTANT
        words = _reply(message) if is_reply else foreign_text.stored(_text(message.get("content")))
        text = foreign_text.checked_text(f"{place}.content", foreign_text.joined(words, *names))
        if text.strip() or files:
            model = foreign_text.stored(message.get("model") or message.get("modelName"))[:200] if is_reply else ""
            date = foreign_text.date(message.get("timestamp"))
            yield ImportedMessage(role, text, date, model=model, files=files)


def _branch(chat: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages of the shown branch with their places; old exports have only a list of them."""
    history = foreign_text.as_object(chat.get("history"))
    tree = history.get("messages")
    if not isinstance(tree, dict) or not tree:
        found = enumerate(read_list("chat.messages", chat.get("messages") or [], limit=MAX_MESSAGES))
        return [(f"chat.messages[{at}]", read_object(f"chat.messages[{at}]", one)) for at, one in found]
    if len(tree) > MAX_MESSAGES:
        raise fault("chat.history.messages", f"at most {MAX_MESSAGES:,}, not {len(tree):,}.")
    nodes = {name: read_object(_place(name), node) for name, node in tree.items() if node is not None}
    parents = {name: _parent(node) for name, node in nodes.items()}
    leaf = history.get("currentId")
    if not isinstance(leaf, str) or leaf not in nodes:
        dates = {name: foreign_text.date(node.get("timestamp")) for name, node in nodes.items()}
        leaf = latest_leaf(parents, dates, place="chat.history.messages")
    return [(_place(name), nodes[name]) for name in path(parents, leaf, place="chat.history.messages")]


def _place(name: str) -> str:
    return f"chat.history.messages.{name[:60]}"


def _parent(node: dict[str, Any]) -> str | None:
    parent = node.get("parentId")
    return parent if isinstance(parent, str) else None


def _text(content: object) -> object:
    if not isinstance(content, list):
        return content
    return "\n\n".join(foreign_text.stored(part.get("text")) for part in foreign_text.objects(content))


def _files(message: dict[str, Any], images: Images) -> tuple[tuple[Attachment, ...], list[str]]:
    """(images of a message, the names and texts of its other files, the names of images without bytes)."""
    room = MAX_CONTENT - ROOM_FOR_NAMES - len(foreign_text.stored(_text(message.get("content"))))
    found: list[Attachment] = []
    names: list[str] = []
    for entry in foreign_text.objects(message.get("files")):
        inner = foreign_text.as_object(entry.get("file"))
        name = entry.get("name") or inner.get("filename") or ("image" if entry.get("type") == "image" else "")
        if entry.get("type") != "image":
            content = foreign_text.stored(foreign_text.as_object(inner.get("data")).get("content"))
            content = foreign_text.cut(content, limit=max(0, room))
            room -= len(content)
            names.append("\n".join(filter(None, (foreign_text.file(name), content))))
        elif fit(found) and (image := images.at_address(foreign_text.stored(name), entry.get("url"))):
            found.append(image)
        else:
            names.append(foreign_text.image(name))
    return tuple(found), names


def _reply(message: dict[str, Any]) -> str:
    """The text of a reply: its content, else the items of its `output`, else its error; then its sources."""
    text = "\n".join(filter(None, shown_parts(foreign_text.stored(_text(message.get("content"))))))
    if not text.strip():
        text = foreign_text.joined(*map(_item, foreign_text.objects(message.get("output"))))
    if not text.strip():
        error = message.get("error")
        words = foreign_text.stored(error.get("content") if isinstance(error, dict) else error)
        return f"[Error] {words}" if words.strip() else ""
    return foreign_text.joined(text, "\n".join(_sources(message)))


def _item(item: dict[str, Any]) -> str:
    """An item of a Responses API's output as text; "" for thoughts."""
    kind = item.get("type")
    if kind == "message":
        return foreign_text.stored(_text(item.get("content")))
    if kind == "function_call":
        arguments = foreign_text.stored(item.get("arguments"))
        return foreign_text.cut(f"[Call of {foreign_text.stored(item.get('name')) or 'a tool'}] {arguments}")
    return foreign_text.cut(foreign_text.stored(_text(item.get("output")))) if kind == "function_call_output" else ""


def _sources(message: dict[str, Any]) -> Iterator[str]:
    """A line for each source, by the number that marks such as `[1]` in the text have."""
    named: dict[str, str] = {}
    for one in foreign_text.objects(message.get("sources")):
        source = foreign_text.as_object(one.get("source"))
        for found in foreign_text.objects(one.get("metadata")) or [{}]:
            id = foreign_text.stored(found.get("source") or source.get("id") or source.get("name"))
            name = foreign_text.stored(found.get("name") or source.get("name")) or id
            url = next((url for url in (id, source.get("url")) if foreign_text.link("", url)), "")
            named.setdefault(id, foreign_text.link(name, url) or name)
    for number, name in enumerate(list(named.values())[:MAX_SOURCES], start=1):
        yield f"- [{number}] {name}"


def _printed(output: str) -> str:
    """The output of code as text; it is JSON in an attribute."""
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        found = output
    given = foreign_text.as_object(found)
    texts = [foreign_text.stored(given.get(name)).strip() for name in ("stdout", "result", "stderr")]
    shown = "\n".join(filter(None, texts)) or foreign_text.stored(found)
    return foreign_text.cut(f"```\n{shown}\n```") if shown else ""


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
        inner = text[opening.end() : end]
        if kind == "tool_calls":
            result = f"\n{given['result']}" if given.get("result") else ""
            yield foreign_text.cut(f"[Call of {given.get('name') or 'a tool'}] {given.get('arguments', '')}{result}\n")
        elif kind == "code_interpreter":
            yield foreign_text.joined(_SUMMARY.sub("", inner, count=1).strip(), _printed(given.get("output", "")))
        elif kind not in LEFT_OUT:
            yield text[opening.start() : end + len(_CLOSING)]
        at = end + len(_CLOSING)
    yield text[at:].strip()
