"""Limits how many jobs run at once, in fair order: one person cannot take all places or block the queue for others."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from conversations.errors import Refused, TooMany

RETRY_AFTER_SECONDS = 5


class Busy(Refused):
    """The site has no free place for the job at the moment."""

    code = "busy"
    status = 503

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after=RETRY_AFTER_SECONDS)
        self.retry_after = RETRY_AFTER_SECONDS


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A person's place in the queue."""

    person: Hashable


class FairQueue:
    """Turns for at most `at_once` jobs at a time, granted first to the person with the fewest running jobs.

    One person may have at most `a_person` jobs, running and waiting; at most `waiting` jobs of all may wait, each for
    at most `seconds`. `what` names the jobs' objects in error messages.
    """

    def __init__(self, *, at_once: int, a_person: int, waiting: int, seconds: float, what: str) -> None:
        self._at_once, self._a_person, self._may_wait = at_once, a_person, waiting
        self._seconds, self._what = seconds, what
        self._most_of_one = max(1, at_once - 1)
        self._at_work: Counter[Hashable] = Counter()
        self._queue: list[Ticket] = []
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, person: Hashable) -> Iterator[None]:
        """Hold a turn. Raises TooMany if the person has too many jobs, Busy if no turn becomes free in time."""
        ticket = Ticket(person)
        with self._changed:
            own = self._at_work[person] + sum(other.person == person for other in self._queue)
            if own >= self._a_person:
                words = f"{own} of your {self._what} are being read; at most {self._a_person} may be at once."
                raise TooMany(words, retry_after=RETRY_AFTER_SECONDS)
            if len(self._queue) >= self._may_wait:
                raise self._busy()
            self._queue.append(ticket)
            is_mine = self._changed.wait_for(lambda: self._next() is ticket, self._seconds)
            self._queue.remove(ticket)
            self._changed.notify_all()
            if not is_mine:
                raise self._busy()
            self._at_work[person] += 1
        try:
            yield
        finally:
            with self._changed:
                self._at_work[person] -= 1
                self._at_work += Counter()  # drops persons without running jobs
                self._changed.notify_all()

    def _next(self) -> Ticket | None:
        """The next ticket: the oldest of the persons with the fewest running jobs; None while no turn is free."""
        if self._at_work.total() >= self._at_once:
            return None
        free = [ticket for ticket in self._queue if self._at_work[ticket.person] < self._most_of_one]
        return min(free, key=lambda ticket: self._at_work[ticket.person], default=None)

    def _busy(self) -> Busy:
        return Busy(f"This site is reading as many {self._what} as it may. Try again in some seconds.")
