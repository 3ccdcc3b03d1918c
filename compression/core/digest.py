"""A running hash of a history: the same for the same words in the same order, wherever they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from compression.core.values import Turn


def extend(digest: str, turns: Iterable[Turn]) -> str:
    """The digest of a history with `digest` so far and `turns` after it (SHA-256, hex; "" before the first)."""
    for turn in turns:
        calls = [[use.call_id, use.name, use.arguments, use.result] for use in turn.tools]
        words = json.dumps([digest, turn.role, turn.content, calls], ensure_ascii=True)
        digest = hashlib.sha256(words.encode()).hexdigest()
    return digest
