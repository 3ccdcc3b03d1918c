"""Public ids that sort by the time they were made, so that an index grows at its end."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """A version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    return UUID(
        int=milliseconds << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64 | 0x2 << 62 | random & (1 << 62) - 1,
    )
