"""Makes public ids (UUID version 7) that sort by their time of creation, so indexes grow at their end."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MAX_INTEGER = 2**31 - 1


def uuid7() -> UUID:
    """A version 7 UUID: milliseconds in 48 bits, their fraction in 12 bits, then 62 random bits.

    Source: RFC 9562, 5.7 and 6.2, method 3. Ids that a process makes one after another ascend.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    return _uuid7(milliseconds, nanoseconds * 4_096 // 1_000_000, int.from_bytes(os.urandom(8)))


def first_id(moment: datetime) -> UUID:
    """The smallest id made at `moment` or later: rows since then are a range of their primary key."""
    return _uuid7(max(0, (moment - EPOCH) // MILLISECOND), 0, 0)


def moment_of(id: UUID) -> datetime:
    """The moment at which an id was made, to the millisecond."""
    return EPOCH + (id.int >> 80) * MILLISECOND


def _uuid7(milliseconds: int, fraction: int, random: int) -> UUID:
    return UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random & (1 << 62) - 1)


def milliseconds_since(id: UUID) -> int:
    """The age of an id in milliseconds by this machine's clock, from 0 to the largest 32-bit integer."""
    return min(max(0, time.time_ns() // 1_000_000 - (id.int >> 80)), MAX_INTEGER)
