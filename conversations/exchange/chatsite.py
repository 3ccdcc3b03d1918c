"""Our own export, version 1. The messages come back as they were; compression starts anew from them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from conversations.errors import Invalid
from conversations.exchange.aims import read_goal
from conversations.exchange.messages import Reader
from conversations.exchange.reading import fault, read_choice, read_date, read_list, read_object, read_text
from conversations.exchange.source import Line, Source
from conversations.models import Conversation
from conversations.models.conversation import MAX_SYSTEM_PROMPT, MAX_TITLE
from conversations.rules import clean_rules
from conversations.validation import clean_policy

NAME = "chatsite's own export"
FORMAT = "chatsite"
VERSION = 1
MAX_CHECKPOINTS = 10_000
MODES = tuple(Conversation.Mode.values)


def recognises(data: object) -> bool:
    return isinstance(data, dict) and data.get("format") == FORMAT


def read(data: dict[str, Any]) -> Source:
    _check_version(data.get("version"))
    row = read_object("conversation", data.get("conversation"))
    reader = Reader()
    lines = tuple(reader.read(data.get("messages")))
    _check_cut(read_date("conversation.compressed_at", row.get("compressed_at")), lines)
    _check_checkpoints(data.get("checkpoints", []), lines)
    return Source(
        title=read_text("conversation.title", row.get("title"), limit=MAX_TITLE),
        system_prompt=read_text("conversation.system_prompt", row.get("system_prompt"), limit=MAX_SYSTEM_PROMPT),
        lines=lines,
        results=reader.results,
        model=read_text("conversation.model", row.get("model"), limit=100),
        started=read_date("conversation.created_at", row.get("created_at")),
        fields={
            "mode": read_choice("conversation.mode", row.get("mode", Conversation.Mode.ASSISTANT), MODES),
            "policy": clean_policy("conversation.policy", row.get("policy", {})),
        },
        rules=clean_rules("conversation.rules", row["rules"]) if "rules" in row else None,
        goal=read_goal(row.get("goal")),
    )


def _check_version(version: object) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise fault("version", "must be a whole number from 1.")
    if version > VERSION:
        raise Invalid(
            f"version: the file was written by a newer version ({version}); this one reads up to {VERSION}.",
            field="version",
            version=version,
            supported=VERSION,
        )


def _check_cut(cut: datetime | None, lines: Sequence[Line]) -> None:
    last = max((line.created_at for line in lines if line.created_at), default=None)
    if cut and (last is None or cut > last):
        raise fault("conversation.compressed_at", "is beyond the last message.")


def _check_checkpoints(raw: object, lines: Sequence[Line]) -> None:
    """Checkpoints are not stored, but a file whose summaries do not fit its messages is not to be trusted."""
    position = {line.id: index for index, line in enumerate(lines) if line.id}
    end = -1
    for index, entry in enumerate(read_list("checkpoints", raw, limit=MAX_CHECKPOINTS)):
        place = f"checkpoints[{index}]"
        checkpoint = read_object(place, entry)
        first, last = (_position(place, key, checkpoint, position) for key in ("first_message", "last_message"))
        if first > last or last <= end:
            raise fault(place, "covers messages out of order.")
        end = last


def _position(place: str, key: str, checkpoint: dict[str, Any], position: dict[str, int]) -> int:
    message_id = checkpoint.get(key)
    if not isinstance(message_id, str) or message_id not in position:
        raise fault(f"{place}.{key}", "is no message of this file.")
    return position[message_id]
