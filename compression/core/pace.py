"""Estimates a running compaction's progress and remaining time from the passages that are already summarised."""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_WRITTEN_SHARE = 0.95
"""The share of a part's expected text up to which its length shows progress; a longer text may end at any time."""


class Pace:
    """The progress of a compaction whose parts (passages) are summarised one after the other; times are seconds.

    `usual` is the time that all parts together took in earlier runs, None if unknown. It is the estimate until the
    first part is done or its text begins to arrive.
    """

    def __init__(self, *, usual: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.parts = 0
        self.done = 0
        self._usual = usual
        self._clock = clock
        self._took = 0.0
        self._since = clock()
        self._first_words: float | None = None
        self._written = 0.0

    def begin(self, number: int, of: int) -> None:
        """Note that part `number` (from 0) begins and all before it are done; `number` = `of`: all parts are done."""
        now = self._clock()
        self._took += now - self._since if self.parts else 0.0
        self.done, self.parts, self._since = number, of, now
        self._first_words, self._written = None, 0.0

    def write(self, share: float) -> None:
        """Note which share of the part's expected text is written; a smaller one than before means a new attempt."""
        if share <= 0 or share < self._written:
            self._first_words, self._written = None, 0.0
        if share > 0:
            self._first_words = self._first_words or self._clock()
            self._written = min(share, MAX_WRITTEN_SHARE)

    @property
    def share(self) -> float:
        """The share of all parts that is done, from 0 to 1."""
        return (self.done + self._written) / self.parts if self.parts else 0.0

    @property
    def remaining(self) -> float | None:
        """Estimated seconds until all parts are done; None without any measurement yet."""
        if not self.parts:
            return self._usual
        part = self._part
        if part is None:
            return None
        elapsed = self._clock() - self._since
        left = self.parts - self.done
        return max(part - elapsed, 0.0) + part * (left - 1) if left else 0.0

    @property
    def _part(self) -> float | None:
        """Estimated seconds of one part.

        The estimate is from the text that is arriving, else from the parts that are done, else from earlier runs.
        """
        if self._first_words is not None and self._clock() > self._first_words:
            waited = self._first_words - self._since
            return waited + (self._clock() - self._first_words) / self._written
        if self.done:
            return self._took / self.done
        return None if self._usual is None else self._usual / self.parts
