"""Conversations for the tests of the engine's core: made up, or real ones where they are at hand."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Role, ToolUse, Turn

SHARED = Path(__file__).parents[3] / "shared" / "data"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def turn(
    content: str, *, role: Role = "user", number: int = 0, name: str = "", tools: tuple[ToolUse, ...] = ()
) -> Turn:
    tokens = count_tokens(content) + MESSAGE_OVERHEAD
    return Turn(str(number), role, content, START + timedelta(minutes=number), tokens, name, tools)


def dialogue(*contents: str) -> list[Turn]:
    """A person and an assistant in turn."""
    return [
        turn(content, role="assistant" if number % 2 else "user", number=number)
        for number, content in enumerate(contents)
    ]


def real(name: str) -> list[Turn]:
    """The turns of one of the shared conversations, "locomo/26.json"; skips the test where they are absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is absent: real conversations are not part of the repository")
    return list(_turns(json.loads(path.read_text())["messages"]))


def _turns(messages: Iterable[dict[str, Any]]) -> Iterable[Turn]:
    for number, message in enumerate(messages):
        if message["role"] != "system":
            calls = tuple(
                ToolUse(call["id"], call["function"]["name"], call["function"]["arguments"], None)
                for call in message.get("tool_calls") or ()
            )
            tokens = count_tokens(message["content"]) + MESSAGE_OVERHEAD
            created_at = datetime.fromisoformat(message["created_at"])
            yield Turn(
                str(number), message["role"], message["content"], created_at, tokens, message.get("name") or "", calls
            )


def split_at_cut(history: Sequence[Turn], cut: datetime | None) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """(turns up to the cut, turns after it). `created_at` is strictly increasing along the history."""
    after = bisect_right(history, cut, key=lambda turn: turn.created_at) if cut else 0
    return tuple(history[:after]), tuple(history[after:])
