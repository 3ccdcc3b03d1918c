"""Gathers the lines of a coding agent's session, and its items as messages of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from conversations.exchange.formats import foreign_text
from conversations.exchange.json_stream import Entry
from conversations.exchange.tool_calls import MAX_CALL_TEXT
from conversations.messages.boilerplate import places_in, without_facts

MAX_VALUE_CHARS = 50_000
"""The most characters of a text in a call's arguments; a longer one is cut, with a note."""


def together(found: Iterable[Entry], name: str, belongs: Callable[[object, bool], bool]) -> Iterator[Entry]:
    """The entries of a file; those of a session that follow each other are one, with a list under `name`.

    `belongs` gets a value, and whether a session has begun before it.
    """
    lines: list[Any] = []
    for entry in found:
        if lines and not belongs(entry.value, True):
            yield Entry({name: lines}, is_listed=True)
            lines = []
        if belongs(entry.value, bool(lines)):
            lines.append(entry.value)
        else:
            yield entry
    if lines:
        yield Entry({name: lines}, is_listed=True)


def branch(
    lines: list[dict[str, Any]], id: str, parents: Sequence[str], is_message: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """The lines that lead to the last message. Where a line names no line before it, the previous one does.

    `id` is the field with a line's id, `parents` are those that may name the line before it.
    """
    chained = [line for line in lines if isinstance(line.get(id), str)]
    places = {line[id]: place for place, line in enumerate(chained)}
    last = max((place for place, line in enumerate(chained) if is_message(line)), default=-1)
    found: list[dict[str, Any]] = []
    while last >= 0:
        line = chained[last]
        found.append(line)
        named = next((line[field] for field in parents if line.get(field)), None)
        parent = places.get(named, last) if isinstance(named, str) else last
        last = parent if parent < last else last - 1
    return found[::-1]


class SessionMessages:
    """The messages of a session. Items of a reply may come one by one, with results of its calls between them."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._replies: dict[str, dict[str, Any]] = {}
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._names: dict[str, str] = {}
        self._answered: set[str] = set()

    @property
    def is_begun(self) -> bool:
        return bool(self._messages)

    def messages(self) -> list[dict[str, Any]]:
        """All messages, each reply with its texts as one."""
        for reply, message in self._replies.items():
            message["content"] = foreign_text.joined(*self._texts[reply])
        return self._messages

    def add_message(self, content: str | list[Any], at: object) -> None:
        """Add a message of the person; text that the agent's program put into it is left out."""
        parts = _blocks(content)
        typed = [part | {"text": typed_text(text)} if (text := _text(part)) is not None else part for part in parts]
        if any(_text(part) != "" for part in typed):
            self._messages.append({"role": "user", "content": typed, "created_at": _date(at)})

    def add_blocks(
        self, content: object, at: object, typed: Callable[[dict[str, Any]], dict[str, Any]] = lambda block: block
    ) -> None:
        """Add Anthropic's blocks of a person: the results of calls, then the rest, each as `typed` gives it."""
        blocks = _blocks(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                self.answered(block.get("tool_use_id"), block.get("content"), at)
        self.add_message([typed(block) for block in blocks if block.get("type") != "tool_result"], at)

    def replied_in_blocks(self, reply: str, content: object, at: object, *, model: object) -> None:
        """Add Anthropic's blocks to a reply, without thoughts."""
        for block in _blocks(content):
            if block.get("type") == "tool_use":
                self.called(reply, block.get("id"), block.get("name"), block.get("input"), at, model=model)
            elif text := foreign_text.stored(block.get("text")):
                self.replied(reply, text, at, model=model)

    def replied(self, reply: str, text: str, at: object, *, model: object) -> None:
        """Add text to a reply."""
        self._of(reply, at, model)
        self._texts[reply].append(text)

    def called(self, reply: str, id: object, name: object, arguments: object, at: object, *, model: object) -> None:
        """Add a tool call to a reply; `arguments` are an object, or text."""
        given = foreign_text.stored(id)
        if given in self._names:
            return
        self._names[given] = call_id = given if 0 < len(given) <= MAX_CALL_TEXT else f"call-{len(self._names) + 1}"
        function = {"name": foreign_text.tool_name(name), "arguments": _arguments(arguments)}
        calls = self._of(reply, at, model).setdefault("tool_calls", [])
        calls.append({"id": call_id, "type": "function", "function": function})

    def answered(self, id: object, result: object, at: object) -> None:
        """Add the result of a call; a second result of the same call is left out."""
        given = foreign_text.stored(id)
        if given in self._names and given not in self._answered:
            self._answered.add(given)
            text = foreign_text.cut(result_text(result))
            self._messages.append(
                {"role": "tool", "tool_call_id": self._names[given], "content": text, "created_at": _date(at)}
            )

    def _of(self, reply: str, at: object, model: object) -> dict[str, Any]:
        if reply not in self._replies:
            name = foreign_text.stored(model)[:200]
            message = {"role": "assistant", "content": "", "created_at": _date(at), "model": name}
            self._replies[reply] = message
            self._messages.append(message)
        return self._replies[reply]


def _blocks(content: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else foreign_text.objects(content)


def _date(value: object) -> str | None:
    date = foreign_text.date(value)
    return date.isoformat() if date else None


def _text(part: dict[str, Any]) -> str | None:
    """The text of a part; None for an image or another part."""
    return part["text"] if isinstance(part.get("text"), str) else None


def typed_text(text: str) -> str:
    """The text without reminders, environments and instructions that an agent's program put into it."""
    left, at = [], 0
    for start, length in without_facts(text, places_in(text)):
        left.append(text[at:start])
        at = start + length
    return foreign_text.stored("".join((*left, text[at:]))).strip()


def image_part(kind: object, data: object) -> dict[str, Any]:
    """An image of a person as a part in Anthropic's form; `kind` is its media type, `data` is in base64."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def result_text(result: object) -> str:
    """A tool's result as text, from a text, a list of parts, or an object with either; other objects as JSON."""
    if isinstance(result, dict):
        named = next((result[field] for field in ("content", "output", "error") if field in result), result)
        if named is result:
            return _as_json(result) if result else ""
        result = named
    if isinstance(result, list):
        return foreign_text.joined(*(_part(part) for part in foreign_text.objects(result)))
    return foreign_text.stored(result)


def _part(part: dict[str, Any]) -> str:
    if part.get("type") in ("image", "input_image"):
        return foreign_text.image("image")
    texts = [text for field in ("text", "result", "error") if isinstance(text := part.get(field), str)]
    return foreign_text.stored("\n".join(filter(None, texts))) if texts or "type" in part else _as_json(part)


def _as_json(value: dict[str, Any]) -> str:
    return foreign_text.stored(json.dumps(value, ensure_ascii=False))


def _arguments(arguments: object) -> str:
    if isinstance(arguments, str):
        return foreign_text.cut(foreign_text.stored(arguments))
    named = foreign_text.as_object(arguments)
    short = {
        name: foreign_text.cut(value, limit=MAX_VALUE_CHARS) if isinstance(value, str) else value
        for name, value in named.items()
    }
    return foreign_text.cut(_as_json(short))
