"""How many requests may be made, which faults are worth another one, and after how long."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from conversations.llm.errors import ModelError

ATTEMPTS = 3
FIRST_PAUSE = 0.5
EXHAUSTED = "was asked as often as is allowed for this"
MAX_PAUSE_SECONDS = 20.0
"""Seconds; a provider that asks for more is not waited for while a person looks on."""


@dataclass(slots=True)
class Attempts:
    """A budget of requests, for one call or for all that share it: every request to a provider takes one.

    Those that are `reserved` are for others, who have not asked yet.
    """

    most: int = ATTEMPTS
    made: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        return max(0, self.most - self.made - self.reserved)

    def take(self) -> bool:
        """Count one more request; False where none is left."""
        if not self.left:
            return False
        self.made += 1
        return True

    def allow(self, most: int) -> None:
        """Let there be at least `most` in all, those already made included."""
        self.most = max(self.most, most)


def pause_before_next(error: ModelError, *, failed: int) -> float | None:
    """Seconds to wait after `failed` attempts, or None where the error is final."""
    if not error.retryable:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= MAX_PAUSE_SECONDS else None
    # Jitter keeps many clients of a server that comes back from asking all at once.
    return FIRST_PAUSE * float(2 ** (failed - 1)) * random.uniform(0.5, 1.0)


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None where it makes no sense."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            until = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def in_words(seconds: float) -> str:
    """A duration for a person: "2 seconds", "90 minutes", "1 hour"."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size and (seconds % size == 0 or seconds >= 2 * size):
            return _counted(round(seconds / size), unit)
    return _counted(math.ceil(seconds), "second")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
