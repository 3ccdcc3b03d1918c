"""A running hash of a history: the same for the same words in the same order, wherever they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from compression.core.values import ToolUse, Turn


def extend(digest: str, turns: Iterable[Turn]) -> str:
    """The digest of a history with `digest` so far and `turns` after it (SHA-256, hex; "" before the first)."""
    for turn in turns:
        digest = after(digest, turn.role, turn.content, turn.tools)
    return digest


def after(digest: str, role: str, content: str, tools: Sequence[ToolUse]) -> str:
    """The same for one message, of which nothing else is known yet."""
    calls = [[use.call_id, use.name, use.arguments, use.result] for use in tools]
    words = json.dumps([digest, role, content, calls], ensure_ascii=True)
    return hashlib.sha256(words.encode()).hexdigest()
