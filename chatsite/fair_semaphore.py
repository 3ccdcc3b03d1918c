"""Semaphore that is shared fairly: one person, or one address, cannot take them all while others wait."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from chatsite.known_callers import credentials
from conversations.models.api_key import digest

MAX_WAITING = 200
"""The most requests that wait for a place."""
MAX_WAIT_SECONDS = 20.0
"""A request waits for a place at most this long."""
SHARE = 3 / 4
"""The largest share of the places, and of the queue, of one person."""


class Requester(NamedTuple):
    """The sender of a request, by its headers alone: a session or key, which may be wrong, and an address."""

    person: str
    address: str


def requester(headers: Iterable[tuple[bytes, bytes]], address: str) -> Requester:
    """The sender of a request; without a session or key, all requests of an address are one person's."""
    named = credentials(dict(headers))
    return Requester(digest(named) if named else address, address)


class QueueFull(Exception):
    """All places are taken, and too many requests wait or the wait was too long."""


class FairSemaphore:
    """A limited number of places. The next one goes to the person with the fewest, of the address with the fewest.

    A person has at most SHARE of the places, and of the queue.
    """

    def __init__(self, *, waiting: int = MAX_WAITING) -> None:
        self._may_wait = waiting
        self._most = 0
        self._taken: Counter[str] = Counter()
        self._waiting: dict[asyncio.Future[None], Requester] = {}
        self._lock = threading.Lock()
        self.taken = 0

    async def take(self, most: int, who: Requester) -> None:
        """Take one of `most` places. Raises QueueFull if too many wait, or none is free within MAX_WAIT_SECONDS."""
        with self._lock:
            self._most = most
            if self.taken < most and self._may_have_more(who):
                self._give(who)
                return
            own = sum(other.person == who.person for other in self._waiting.values())
            if len(self._waiting) >= self._may_wait or own >= max(1, SHARE * self._may_wait):
                raise QueueFull
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[turn] = who
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await turn
        except BaseException as error:
            with self._lock:
                was_given = self._waiting.pop(turn, None) is None
            if was_given:
                self.leave(who)  # the place was given just too late: pass it on
            raise (QueueFull if isinstance(error, TimeoutError) else error) from None

    def leave(self, who: Requester) -> None:
        """Give up a place, which goes to the next request. May be called from any thread."""
        with self._lock:
            self.taken -= 1
            self._taken.subtract((f"person {who.person}", f"address {who.address}"))
            self._taken += Counter()  # drops those without a place
            turns = [turn for turn, other in self._waiting.items() if self._may_have_more(other)]
            turn = min(turns, key=lambda turn: self._held(self._waiting[turn]), default=None)
            if turn is not None and self.taken < self._most:
                self._give(self._waiting.pop(turn))
            else:
                turn = None
        if turn is not None:
            turn.get_loop().call_soon_threadsafe(_wake, turn)

    def _give(self, who: Requester) -> None:
        self.taken += 1
        self._taken.update((f"person {who.person}", f"address {who.address}"))

    def _held(self, who: Requester) -> tuple[int, int]:
        return self._taken[f"address {who.address}"], self._taken[f"person {who.person}"]

    def _may_have_more(self, who: Requester) -> bool:
        return self._taken[f"person {who.person}"] < max(1, SHARE * self._most)


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
