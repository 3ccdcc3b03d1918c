"""What one socket or stream hears: events in a queue that is bounded, whoever reads it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Self

from conversations.runtime.event_types import EventType

BACKLOG = 256
"""Events that may wait for a slow listener. Beyond it they are dropped for one `resync`, and the page fetches."""
LONG = 4_000
"""Characters after which no more is joined to a piece that waits: a frame stays small."""


@dataclass(frozen=True, slots=True)
class Event:
    """An EventType or a Signal, with its data as JSON. A process of another version may send a type that this one
    does not know."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)


def joined(before: Event, after: Event) -> Event | None:
    """Two pieces of a reply as one; None where they are something else, or not next to each other, or long."""
    if not before.type == after.type == EventType.MESSAGE_DELTA or before.data["id"] != after.data["id"]:
        return None
    text, at = before.data["text"], before.data["at"]
    if at + len(text) != after.data["at"] or len(text) > LONG:
        return None
    return Event(EventType.MESSAGE_DELTA, {"id": after.data["id"], "text": text + after.data["text"], "at": at})


RESYNC = Event(EventType.RESYNC)


class Queue:
    """Of events, for one reader. An `asyncio.Queue` takes 3 KB before it holds anything, for each of many sockets."""

    __slots__ = ("_events", "_waiter")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def qsize(self) -> int:
        return len(self._events)

    def put_nowait(self, event: Event) -> None:
        """Where the reader is behind, words that follow on those it has not read yet are joined to them."""
        if self._events and (both := joined(self._events[-1], event)):
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
        if self.queue.qsize() >= BACKLOG:
            self.queue.clear()
            event = RESYNC
        self.queue.put_nowait(event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await self.queue.get()
