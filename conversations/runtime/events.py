"""What happens in a conversation, told to everyone who listens to it.

A process-local hub: listeners by conversation, and one timer that sends what models have written meanwhile. Where a
site has several processes, `conversations.relay` carries what one hub says to the others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from conversations.runtime.event_types import ENDS, EventType, Signal
from conversations.runtime.subscription import RESYNC, Event, Listener

TICK = 0.04
"""Seconds that deltas are collected for; the first one of a reply goes out at once."""
SLOT = 0.008
"""Seconds between two rounds of sending, at least. Each takes what is due by the next one: sent all at one moment, what
a thousand models have written would keep the loop for 30 ms, and the last pages waiting as long."""
RESYNC_APART = 0.005
"""Seconds between two pages that are told to fetch, where all are."""
DRAFTS = 2_000
"""Replies of other processes whose text is kept for pages that are opened meanwhile."""


class Peers(Protocol):
    """The way to the other processes."""

    loop: asyncio.AbstractEventLoop

    def put(self, conversation_id: UUID, event: Event) -> None: ...


class Pending(NamedTuple):
    """Pieces of a reply from its `at`-th character on, to be sent at `due` by the clock of the loop."""

    message_id: str
    at: int
    pieces: list[str]
    due: float


@dataclass(slots=True)
class Draft:
    """A reply as far as another process has written it."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0


class Hub:
    def __init__(self) -> None:
        self.listeners: defaultdict[UUID, set[Listener]] = defaultdict(set)
        self.peers: Peers | None = None
        self.afar: Callable[[UUID, Event], None] | None = None
        self.commands: dict[str, Callable[[UUID], object]] = {}
        self._pending: dict[UUID, Pending] = {}
        self._begun: set[str] = set()
        self._drafts: dict[str, Draft] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def listen(self, conversation_id: UUID) -> Iterator[Listener]:
        """Hear a conversation's events from now on."""
        listener = Listener()
        self.listeners[conversation_id].add(listener)
        try:
            yield listener
        finally:
            self.listeners[conversation_id].discard(listener)
            if not self.listeners[conversation_id]:
                del self.listeners[conversation_id]

    def is_heard(self, conversation_id: UUID) -> bool:
        """Whether anyone listens here, or may do so in another process."""
        return self.peers is not None or conversation_id in self.listeners

    def publish(self, conversation_id: UUID, event: Event) -> None:
        """Tell all listeners, from any thread; text fed before is told first."""
        for listener in list(self.listeners.get(conversation_id, ())):
            listener.loop.call_soon_threadsafe(self._deliver, conversation_id, listener, event)
        if self.peers:
            self.peers.loop.call_soon_threadsafe(self._forward, conversation_id, event)
        elif self.afar:
            self.afar(conversation_id, event)

    def feed(self, conversation_id: UUID, message_id: str, text: str, *, at: int) -> None:
        """A piece of a reply, from its `at`-th character on, on the loop that listens: joined for one tick."""
        if not self.is_heard(conversation_id):
            self._pending.pop(conversation_id, None)  # what is fed to the next listener does not follow on it
            return
        if message_id not in self._begun:
            self._begun.add(message_id)
            self._send(conversation_id, message_id, at, text)
            return
        if pending := self._pending.get(conversation_id):
            pending.pieces.append(text)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + TICK
        self._pending[conversation_id] = Pending(message_id, at, [text], due)
        if self._timer is None or self._loop is not loop:
            self._loop, self._timer = loop, loop.call_at(due - SLOT, self._tick, loop)

    def ended(self, conversation_id: UUID, message_id: str) -> None:
        """No more text will come: what waits goes out now."""
        self._flush(conversation_id)
        self._begun.discard(message_id)

    def hear(self, conversation_id: UUID, event: Event) -> None:
        """What another process says; on the loop that listens."""
        if command := self.commands.get(event.type):
            command(conversation_id)
            return
        self._note(event)
        for listener in list(self.listeners.get(conversation_id, ())):
            listener.put(event)

    def resync_all(self) -> None:
        """Something was missed, nobody knows what: all pages fetch, a few at a time."""
        listeners = [listener for those in self.listeners.values() for listener in those]
        for place, listener in enumerate(listeners):
            listener.loop.call_later(place * RESYNC_APART, listener.put, RESYNC)
        self._drafts.clear()

    def draft(self, message_id: str) -> str:
        """What another process has written of a reply, as far as it was heard from its beginning; else ""."""
        draft = self._drafts.get(message_id)
        return "".join(draft.pieces) if draft else ""

    def _note(self, event: Event) -> None:
        if event.type == EventType.MESSAGE_DELTA:
            id, text, at = event.data["id"], event.data["text"], event.data["at"]
            draft = self._drafts.pop(id, None) or Draft()
            if at == draft.length:
                draft.pieces.append(text)
                draft.length += len(text)
                self._drafts[id] = draft
            if len(self._drafts) > DRAFTS:
                del self._drafts[next(iter(self._drafts))]
        elif event.type in ENDS:
            self._drafts.pop(event.data["message"]["id"], None)

    def _forward(self, conversation_id: UUID, event: Event) -> None:
        self._flush(conversation_id)
        if self.peers:
            self.peers.put(conversation_id, event)

    def _deliver(self, conversation_id: UUID, listener: Listener, event: Event) -> None:
        self._flush(conversation_id)
        listener.put(event)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send what is due in this slot: what has waited longest stands first."""
        self._timer = None
        until = loop.time() + SLOT
        while self._pending:
            conversation_id, pending = next(iter(self._pending.items()))
            if pending.due > until:
                self._timer = loop.call_at(pending.due, self._tick, loop)
                return
            self._flush(conversation_id)

    def _flush(self, conversation_id: UUID) -> None:
        if pending := self._pending.pop(conversation_id, None):
            self._send(conversation_id, pending.message_id, pending.at, "".join(pending.pieces))

    def _send(self, conversation_id: UUID, message_id: str, at: int, text: str) -> None:
        event = Event(EventType.MESSAGE_DELTA, {"id": message_id, "text": text, "at": at})
        for listener in self.listeners.get(conversation_id, ()):
            listener.put(event)
        if self.peers:
            self.peers.put(conversation_id, event)


hub = Hub()


def publish(conversation_id: UUID, type: EventType | Signal, **data: Any) -> None:
    """Tell everyone who has the conversation open. Call it after the commit that it speaks of."""
    hub.publish(conversation_id, Event(type, data))
