"""A running hash of a history; equal histories have equal digests in all rows that store them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from compression.core.values import Image, ToolUse, Turn


def extend_digest(digest: str, turns: Iterable[Turn]) -> str:
    """The digest of a history with the digest `digest`, followed by `turns` (SHA-256 in hex; "": no history)."""
    for turn in turns:
        digest = digest_after(digest, turn.role, turn.content, turn.tools, turn.images)
    return digest


def digest_after(digest: str, role: str, content: str, tools: Sequence[ToolUse], images: Sequence[Image] = ()) -> str:
    """The digest of a history followed by one message, which need not be stored yet.

    The hashed text of a message without images has no entry for images: these digests equal those that were stored
    before messages could have images.
    """
    # A JSON array, put together here: most messages are text alone, and a text alone is encoded several times faster.
    calls = json.dumps([[use.call_id, use.name, use.arguments, use.result] for use in tools]) if tools else "[]"
    hashes = f", {json.dumps([image.hash for image in images])}" if images else ""
    hashed = f'["{digest}", "{role}", {json.dumps(content)}, {calls}{hashes}]'
    return hashlib.sha256(hashed.encode()).hexdigest()
