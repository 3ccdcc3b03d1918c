"""Reads LibreChat's export of a conversation: a list of messages with parents, or a tree of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from conversations.exchange.document import ImportedCall, ImportedMessage, ImportedResult, ImportedSource
from conversations.exchange.fields import fault, read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path
from conversations.models import Message

NAME = "LibreChat's export"
LEFT_OUT = ("think", "reasoning")
IMAGES = ("image_file", "image_url")
PERSON = "User"


def recognises(data: object) -> bool:
    if not isinstance(data, dict) or "conversationId" not in data:
        return False
    return "messages" in data or "messagesTree" in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The conversation, without reasoning and empty messages. Raises Invalid, naming the place."""
    reader = _Reader()
    id = foreign_text.stored(data.get("conversationId"))
    options = foreign_text.as_object(data.get("options"))
    lines = tuple(line for place, message in _branch(data) for line in reader.lines(place, message))
    return ImportedSource(
        title=foreign_text.title(data.get("title")),
        system_prompt=foreign_text.instructions("options", options.get("promptPrefix") or options.get("system")),
        lines=lines,
        results=reader.results,
        id=id or None,
        origin=f"librechat:{id}"[:220] if id else "",
        started=foreign_text.date(data.get("createdAt")),
        updated=foreign_text.date(data.get("updatedAt")),
        may_be_empty=False,
    )


def _branch(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages with their places, along the parents of the one that was written last."""
    found = list(_flat(data.get("messages") or data.get("messagesTree") or []))
    by_id = {id: one for one in found if (id := foreign_text.stored(one[1].get("messageId")))}
    if len(by_id) < len(found):
        return found  # without ids of their own the messages come as they stand
    parents = {id: foreign_text.stored(message.get("parentMessageId")) or None for id, (_, message) in by_id.items()}
    if not by_id:
        return []
    dates = {id: foreign_text.date(message.get("createdAt")) for id, (_, message) in by_id.items()}
    return [by_id[id] for id in path(parents, latest_leaf(parents, dates, place="messages"), place="messages")]


def _flat(raw: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """All messages, those below others after them; without recursion, so that any depth can be read."""
    waiting = [(f"messages[{at}]", one) for at, one in enumerate(read_list("messages", raw, limit=MAX_MESSAGES))]
    waiting.reverse()
    count = 0
    while waiting:
        place, value = waiting.pop()
        message = read_object(place, value)
        count += 1
        if count > MAX_MESSAGES:
            raise fault("messages", f"at most {MAX_MESSAGES:,}.")
        yield place, message
        below = read_list(f"{place}.children", message.get("children") or [], limit=MAX_MESSAGES)
        waiting += [(f"{place[:200]}.children[{at}]", one) for at, one in reversed(list(enumerate(below)))]


class _Reader:
    """Reads messages in order, with their calls of tools and the results that stand in them."""

    def __init__(self) -> None:
        self.results: dict[int, ImportedResult] = {}
        self._calls = 0

    def lines(self, place: str, message: dict[str, Any]) -> Iterator[ImportedMessage]:
        """A line for each run of text and the calls after it; none for an empty message. Raises Invalid."""
        is_person = _is_person(message)
        role = Message.Role.USER.value if is_person else Message.Role.ASSISTANT.value
        model = "" if is_person else foreign_text.stored(message.get("model"))[:200]
        date = foreign_text.date(message.get("createdAt"))
        texts: list[str] = []
        calls: list[ImportedCall] = []

        def made() -> Iterator[ImportedMessage]:
            text = foreign_text.checked_text(place, foreign_text.joined(*texts))
            if text.strip() or calls:
                yield ImportedMessage(role, text, date, calls=tuple(calls), model=model)
            texts.clear()
            calls.clear()

        for number, part in enumerate(_parts(message)):
            call = part.get("tool_call")
            if part.get("type") == "tool_call" and isinstance(call, dict) and not is_person:
                calls.append(self._call(f"{place}.content[{number}]", call, date))
            elif text := _text(part):
                if calls:
                    yield from made()
                texts.append(text)
        texts += _files(message)
        yield from made()

    def _call(self, place: str, call: dict[str, Any], date: datetime | None) -> ImportedCall:
        self._calls += 1
        name = foreign_text.tool_name(call.get("name"))
        given = call.get("args")
        arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
        if (output := call.get("output")) is not None:
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            self.results[self._calls] = ImportedResult(foreign_text.cut(foreign_text.stored(text)), date)
        text = foreign_text.checked_text(f"{place}.args", foreign_text.stored(arguments))
        return ImportedCall(self._calls, f"call-{self._calls}", name, text)


def _is_person(message: dict[str, Any]) -> bool:
    """Whether a person wrote a message; exports without the flag name the sender alone."""
    flag = message.get("isCreatedByUser")
    return flag is True if isinstance(flag, bool) else message.get("sender") == PERSON


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a message; most have only a text."""
    return foreign_text.objects(message.get("content")) or [{"type": "text", "text": message.get("text")}]


def _text(part: dict[str, Any]) -> str:
    if part.get("type") in LEFT_OUT:
        return ""
    if part.get("type") == "error":
        return foreign_text.stored(part.get("error"))
    if part.get("type") in IMAGES:
        inner = foreign_text.as_object(part.get(str(part["type"])))
        return foreign_text.image(inner.get("filename") or inner.get("file_id"))
    text = part.get("text")
    return foreign_text.stored(text.get("value") if isinstance(text, dict) else text)


def _files(message: dict[str, Any]) -> list[str]:
    found = foreign_text.objects(message.get("files")) + foreign_text.objects(message.get("attachments"))
    return [
        (foreign_text.image if str(one.get("type")).startswith("image/") else foreign_text.file)(one["filename"])
        for one in found
        if one.get("filename")
    ]
