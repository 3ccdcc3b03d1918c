"""The real conversations of `../shared/data`, beside the repository and no part of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, ToolUse, Turn

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence` holds indices into the turns."""

    answer: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load(name: str) -> Conversation:
    """One conversation, "locomo/26", without system messages and with the questions of categories 1 to 4."""
    source = json.loads((DATA / f"{name}.json").read_text())
    questions = (
        Question(str(asked["answer"]), tuple(asked["evidence"]))
        for asked in source.get("qa", ())
        if asked["category"] in (1, 2, 3, 4)
    )
    return Conversation(name, tuple(_turns(source["messages"])), tuple(questions))


def _turns(messages: list[Mapping[str, Any]]) -> Iterator[Turn]:
    for number, message in enumerate(messages):
        if message["role"] == "system":
            continue
        calls = tuple(
            ToolUse(call["id"], call["function"]["name"], call["function"]["arguments"], None)
            for call in message.get("tool_calls") or ()
        )
        text = message["content"]
        tokens = count_tokens(text) + sum(count_tokens(call.arguments) for call in calls) + MESSAGE_OVERHEAD
        created_at = datetime.fromisoformat(message["created_at"])
        yield Turn(str(number), message["role"], text, created_at, tokens, message.get("name") or "", calls)
