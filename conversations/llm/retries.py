"""Budgets of requests, and the pauses between attempts after errors that are worth another one."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from django.template.defaultfilters import pluralize

from conversations.llm.errors import ModelError

ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.5
EXHAUSTED = "was asked as often as is allowed for this"
SMALL_SHARE = 0.5
"""A request of at most this share of the window cannot be what a server calls too long."""
SLOT_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further request to a server whose slots are full."""
MAX_PAUSE_SECONDS = 20.0
"""A provider that asks for a longer pause is not asked again, as a person is waiting."""


@dataclass(slots=True)
class Attempts:
    """A budget of requests for one or several calls: every request to a provider takes one of it.

    `reserved` requests are kept for calls that have not begun yet. Requests of a budget `within` another one count in
    both. After an error with a code in `returned`, the caller decides whether to ask again, not the model.
    """

    most: int = ATTEMPTS
    made: int = 0
    reserved: int = 0
    within: Attempts | None = None
    returned: frozenset[str] = frozenset()

    @property
    def left(self) -> int:
        left = max(0, self.most - self.made - self.reserved)
        return min(left, self.within.left) if self.within else left

    def take(self) -> bool:
        """Take one request from the budget; False if none is left."""
        if not self.left:
            return False
        self.made += 1
        if self.within:
            self.within.take()
        return True

    def add(self, requests: int = 1) -> None:
        """Raise the budget, and the one that it is within, by a number of requests."""
        self.most += requests
        if self.within:
            self.within.add(requests)

    def allow(self, most: int) -> None:
        """Raise the budget to at least `most` requests, including those already made."""
        self.most = max(self.most, most)


def pause_before_next(error: ModelError, *, failed: int) -> float | None:
    """Seconds to wait after `failed` attempts; None if the error is final."""
    if not error.retryable:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= MAX_PAUSE_SECONDS else None
    # Jitter prevents many clients from asking a recovering server at the same moment.
    return FIRST_PAUSE_SECONDS * float(2 ** (failed - 1)) * random.uniform(0.5, 1.0)


def retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header, given as a number or a date; None for an invalid one."""
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
    return f"{number} {unit}{pluralize(number)}"
