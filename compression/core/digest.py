"""A running hash of a history: the same for the same words in the same order, wherever they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from compression.core.values import Image, ToolUse, Turn


def extend(digest: str, turns: Iterable[Turn]) -> str:
    """The digest of a history with `digest` so far and `turns` after it (SHA-256, hex; "" before the first)."""
    for turn in turns:
        digest = after(digest, turn.role, turn.content, turn.tools, turn.images)
    return digest


def after(digest: str, role: str, content: str, tools: Sequence[ToolUse], images: Sequence[Image] = ()) -> str:
    """The same for one message, of which nothing else is known yet.

    Without images it is what it was before there were any.
    """
    calls = [[use.call_id, use.name, use.arguments, use.result] for use in tools]
    hashes = [[image.hash for image in images]] if images else []
    words = json.dumps([digest, role, content, calls, *hashes], ensure_ascii=True)
    return hashlib.sha256(words.encode()).hexdigest()
