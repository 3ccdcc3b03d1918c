"""How far the summaries of a compaction are, and how long the rest will take: from the parts that are done."""

from __future__ import annotations

import time
from collections.abc import Callable

UNTIL_IT_ENDS = 0.95
"""Of the text that is expected: what is written beyond it says nothing about when it ends."""


class Pace:
    """The parts are passages, summarised one after the other; times are seconds.

    `usual` is what all parts together took in earlier runs, None where nobody knows. It counts until the first part is
    done, or has begun to be written.
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
        """Part `number` (from 0) begins: those before it are done. With `number` = `of` all are."""
        now = self._clock()
        self._took += now - self._since if self.parts else 0.0
        self.done, self.parts, self._since = number, of, now
        self._first_words, self._written = None, 0.0

    def write(self, share: float) -> None:
        """So much of what is expected of this part is written; less than before: it is being written anew."""
        if share <= 0 or share < self._written:
            self._first_words, self._written = None, 0.0
        if share > 0:
            self._first_words = self._first_words or self._clock()
            self._written = min(share, UNTIL_IT_ENDS)

    @property
    def share(self) -> float:
        """Of all parts, from 0 to 1."""
        return (self.done + self._written) / self.parts if self.parts else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds, if the rest goes on as what there is of it; None where nothing is known yet."""
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
        """What one part takes, by the best that is known of it."""
        if self._first_words is not None and self._clock() > self._first_words:
            waited = self._first_words - self._since
            return waited + (self._clock() - self._first_words) / self._written
        if self.done:
            return self._took / self.done
        return None if self._usual is None else self._usual / self.parts
