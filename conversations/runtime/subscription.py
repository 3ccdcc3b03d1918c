"""The events of one socket or stream, in a bounded queue."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Self

from conversations.runtime.event_types import GROWING, EventType

MAX_QUEUED_EVENTS = 256
"""The most events that wait for a slow listener. Beyond that one `resync` replaces them, and the page fetches."""
MAX_JOINED_CHARS = 4_000
"""A waiting delta of more characters is not joined with the next one, so that frames stay small."""


@dataclass(frozen=True, slots=True)
class Event:
    """An EventType or a Signal, with its data as JSON. A process of another version may send a type that this one
    does not know."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)


def join_deltas(before: Event, after: Event) -> Event | None:
    """Two adjacent deltas of a reply as one; None if they are not, or if the first is longer than MAX_JOINED_CHARS."""
    if before.type not in GROWING or before.type != after.type or before.data["id"] != after.data["id"]:
        return None
    text, at = before.data["text"], before.data["at"]
    if at + len(text) != after.data["at"] or len(text) > MAX_JOINED_CHARS:
        return None
    return Event(after.type, {"id": after.data["id"], "text": text + after.data["text"], "at": at})


RESYNC = Event(EventType.RESYNC)


class Queue:
    """A queue of events for one reader. It replaces `asyncio.Queue`, which takes 3 KB for each socket when empty."""

    __slots__ = ("_events", "_waiter")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def qsize(self) -> int:
        return len(self._events)

    def put_nowait(self, event: Event) -> None:
        """Add an event; a delta that follows on a waiting delta is joined to it."""
        if self._events and (both := join_deltas(self._events[-1], event)):
            self._events[-1] = both
        else:
            self._events.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def get_nowait(self) -> Event:
        return self._events.pop(0)

    async def get(self) -> Event:
        while not self._events:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.pop(0)

    def clear(self) -> None:
        self._events.clear()


class Listener:
    """The queue of one socket or stream."""

    __slots__ = ("loop", "queue")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue = Queue()

    def put(self, event: Event) -> None:
        if self.queue.qsize() >= MAX_QUEUED_EVENTS:
            self.queue.clear()
            event = RESYNC
        self.queue.put_nowait(event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await self.queue.get()
