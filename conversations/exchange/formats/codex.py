"""Reads a session of Codex: JSON lines of messages, calls of tools and their outputs.

Sessions of before 2025-09 have items alone, after a line with the session's id.
The files are `~/.codex/sessions/<year>/<month>/<day>/rollout-<date>-<session>.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from conversations.exchange.document import ImportedSource
from conversations.exchange.formats import foreign_text, neutral
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages, result_text, together, typed_text
from conversations.exchange.json_stream import Entry

NAME = "a session of Codex"
LINES = "codex-lines"
"""The field of an entry that holds the lines of a session."""
ROLLED_BACK = "thread_rolled_back"
"""The event after the person took turns back."""


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; the lines of a session are one conversation."""
    return together(found, LINES, _belongs)


def recognises(data: object) -> bool:
    return isinstance(data, dict) and LINES in data


def read_conversation(data: dict[str, Any], images: Images) -> ImportedSource:
    """The messages, calls and outputs in order, without thoughts and turns that were taken back. Raises Invalid."""
    lines = data[LINES]
    heads = (_item(line) for line in lines if line.get("type") == "session_meta" or _is_old_head(line))
    session = foreign_text.stored(next(heads, {}).get("id"))
    read = SessionMessages()
    steps = 0
    for step in _kept(lines):
        steps += _ends_reply(step.item)
        _take(step, read, reply=str(steps))
    source = neutral.read_conversation({"messages": read.messages()}, images)
    return replace(source, origin=f"codex:{session}"[:220] if session else "", may_be_empty=False)


class _Step(NamedTuple):
    """An item of a session with its date, and the model of that time."""

    item: dict[str, Any]
    at: object
    model: str


def _belongs(value: object, begun: bool) -> bool:
    return _is_line(value) or (_is_old_line(value) if begun else _is_old_head(value))


def _is_line(value: object) -> bool:
    return isinstance(value, dict) and {"timestamp", "type"} <= value.keys() and isinstance(value.get("payload"), dict)


def _is_old_head(value: object) -> bool:
    return isinstance(value, dict) and {"id", "timestamp", "instructions"} <= value.keys() and "type" not in value


def _is_old_line(value: object) -> bool:
    return isinstance(value, dict) and ("record_type" in value or isinstance(value.get("type"), str))


def _item(line: dict[str, Any]) -> dict[str, Any]:
    return foreign_text.as_object(line.get("payload", line))


def _kept(lines: list[dict[str, Any]]) -> list[_Step]:
    """The items of the session that were not taken back."""
    kept: list[_Step] = []
    turns: list[int] = []
    model = ""
    for line in lines:
        kind, item = line.get("type"), _item(line)
        if kind == "turn_context":
            model = foreign_text.stored(item.get("model")) or model
        elif kind == "event_msg":
            count = item.get("num_turns") if item.get("type") == ROLLED_BACK else 0
            if isinstance(count, int) and 0 < count <= len(turns):
                del kept[turns[-count] :], turns[-count:]
        elif kind == "response_item" or "payload" not in line:
            if item.get("type") == "message" and item.get("role") == "user" and _typed(item):
                turns.append(len(kept))
            kept.append(_Step(item, line.get("timestamp"), model))
    return kept


def _typed(item: dict[str, Any]) -> bool:
    """Whether a person's message has more than its program put into it."""
    parts = foreign_text.objects(item.get("content"))
    return any(part.get("type") != "input_text" or typed_text(foreign_text.stored(part.get("text"))) for part in parts)


def _ends_reply(item: dict[str, Any]) -> bool:
    """Whether the next item of the model begins another reply."""
    kind = foreign_text.stored(item.get("type"))
    return kind.endswith("_output") or (kind == "message" and item.get("role") != "assistant")


def _take(step: _Step, read: SessionMessages, *, reply: str) -> None:
    item, at, model = step
    kind = foreign_text.stored(item.get("type"))
    if kind == "message":
        if item.get("role") == "user":
            read.add_message(item.get("content") or "", at)
        elif item.get("role") == "assistant":
            read.replied(reply, result_text(item), at, model=model)
    elif kind.endswith("_output"):
        read.answered(item.get("call_id"), _output(item.get("output")), at)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments", {"input": item.get("input")})
        read.called(reply, item.get("call_id"), item.get("name"), arguments, at, model=model)
    elif kind == "local_shell_call":
        command = {"command": foreign_text.as_object(item.get("action")).get("command")}
        read.called(reply, item.get("call_id") or item.get("id"), "shell", command, at, model=model)


def _output(output: object) -> object:
    """The output of a call; that of a command may be a text with JSON."""
    if isinstance(output, str) and output.startswith('{"output"'):
        with suppress(ValueError, RecursionError):
            return json.loads(output)
    return output
