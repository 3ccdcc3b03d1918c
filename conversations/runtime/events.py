"""The hub that sends a conversation's events to everyone who listens to it.

The hub is local to a process: it has the listeners of each conversation, and one timer that sends collected deltas. If
a site has several processes, `conversations.runtime.relay` carries the events of one hub to the others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from conversations.runtime.bounded_cache import BoundedCache
from conversations.runtime.event_types import ENDS, GROWING, EventType, Signal
from conversations.runtime.subscription import RESYNC, Event, Listener

TICK_SECONDS = 0.04
"""Deltas are collected for this long; the first one of a reply is sent at once."""
SLOT_SECONDS = 0.008
"""The least time between two rounds of sending; a round sends the deltas that are due before the next one.

Sending the deltas of a thousand replies at one moment would block the loop for 30 ms and delay the last pages as long.
"""
RESYNC_INTERVAL_SECONDS = 0.005
"""The time between two resync events when all pages get one."""
MAX_DRAFTS = 2_000
"""The most running replies of other processes whose text is kept for newly opened pages."""


class Peers(Protocol):
    """A connection to the site's other processes."""

    loop: asyncio.AbstractEventLoop

    def put(self, conversation_id: UUID, event: Event) -> None: ...


class Pending(NamedTuple):
    """Collected pieces of a reply, or of its thoughts, from the `at`-th character on, to be sent at `due` (the loop's
    clock)."""

    kind: EventType
    message_id: str
    at: int
    pieces: list[str]
    due: float


@dataclass(slots=True)
class Draft:
    """The text so far of a reply that another process is writing, or of its thoughts."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0


class Hub:
    """Sends events to a process's listeners and to the other processes."""

    def __init__(self) -> None:
        self.listeners: defaultdict[UUID, set[Listener]] = defaultdict(set)
        self.peers: Peers | None = None
        self.afar: Callable[[UUID, Event], None] | None = None
        self.commands: dict[str, Callable[[UUID], object]] = {}
        self._pending: dict[UUID, Pending] = {}
        self._begun: set[tuple[EventType, str]] = set()
        self._drafts: BoundedCache[tuple[str, str], Draft] = BoundedCache(MAX_DRAFTS)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def listen(self, conversation_id: UUID) -> Iterator[Listener]:
        """A listener that receives the conversation's events from now until the context ends."""
        listener = Listener()
        self.listeners[conversation_id].add(listener)
        try:
            yield listener
        finally:
            self.listeners[conversation_id].discard(listener)
            if not self.listeners[conversation_id]:
                del self.listeners[conversation_id]

    def is_heard(self, conversation_id: UUID) -> bool:
        """Whether the conversation has a listener here, or may have one in another process."""
        return self.peers is not None or conversation_id in self.listeners

    def publish(self, conversation_id: UUID, event: Event) -> None:
        """Send an event to all listeners, from any thread; deltas fed before it are sent first."""
        for listener in list(self.listeners.get(conversation_id, ())):
            listener.loop.call_soon_threadsafe(self._deliver, conversation_id, listener, event)
        if self.peers:
            self.peers.loop.call_soon_threadsafe(self._forward, conversation_id, event)
        elif self.afar:
            self.afar(conversation_id, event)

    def feed(
        self,
        conversation_id: UUID,
        message_id: str,
        text: str,
        *,
        at: int,
        kind: EventType = EventType.MESSAGE_DELTA,
    ) -> None:
        """Send a piece of a reply or of its thoughts, by `kind`, from its `at`-th character on.

        Pieces are collected for TICK_SECONDS. Call it on the listeners' loop.
        """
        if not self.is_heard(conversation_id):
            self._pending.pop(conversation_id, None)  # later pieces will not follow on these
            return
        pending = self._pending.get(conversation_id)
        if pending and (pending.kind != kind or not at):
            self._flush(conversation_id)
            pending = None
        if (kind, message_id) not in self._begun:
            self._begun.add((kind, message_id))
            self._send(conversation_id, kind, message_id, at, text)
            return
        if pending:
            pending.pieces.append(text)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + TICK_SECONDS
        self._pending[conversation_id] = Pending(kind, message_id, at, [text], due)
        if self._timer is None or self._loop is not loop:
            self._loop, self._timer = loop, loop.call_at(due - SLOT_SECONDS, self._tick, loop)

    def ended(self, conversation_id: UUID, message_id: str) -> None:
        """Note that a reply has no more text; collected pieces are sent now."""
        self._flush(conversation_id)
        for kind in GROWING:
            self._begun.discard((kind, message_id))

    def hear(self, conversation_id: UUID, event: Event) -> None:
        """Pass another process's event to the listeners here. Call it on their loop."""
        if command := self.commands.get(event.type):
            command(conversation_id)
            return
        self._note(event)
        for listener in list(self.listeners.get(conversation_id, ())):
            listener.put(event)

    def resync_all(self) -> None:
        """Have all pages fetch the present state, a few at a time, after events of another process were lost."""
        listeners = [listener for those in self.listeners.values() for listener in those]
        for place, listener in enumerate(listeners):
            listener.loop.call_later(place * RESYNC_INTERVAL_SECONDS, listener.put, RESYNC)
        self._drafts.clear()

    def draft(self, message_id: str, kind: str = EventType.MESSAGE_DELTA) -> str:
        """The text so far of a reply that another process is writing, or of its thoughts; "" unless it was heard from
        its beginning.
        """
        draft = self._drafts.get((kind, message_id))
        return "".join(draft.pieces) if draft else ""

    def _note(self, event: Event) -> None:
        """Keep the text of another process's reply while it is written."""
        if event.type in GROWING:
            key, text, at = (event.type, event.data["id"]), event.data["text"], event.data["at"]
            draft = (self._drafts.pop(key) if at else None) or Draft()
            if at == draft.length:
                draft.pieces.append(text)
                draft.length += len(text)
                self._drafts.put(key, draft)
        elif event.type in ENDS:
            for kind in GROWING:
                self._drafts.pop((kind, event.data["message"]["id"]))

    def _forward(self, conversation_id: UUID, event: Event) -> None:
        self._flush(conversation_id)
        if self.peers:
            self.peers.put(conversation_id, event)

    def _deliver(self, conversation_id: UUID, listener: Listener, event: Event) -> None:
        self._flush(conversation_id)
        listener.put(event)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send the deltas that are due in this slot, the oldest first."""
        self._timer = None
        until = loop.time() + SLOT_SECONDS
        while self._pending:
            conversation_id, pending = next(iter(self._pending.items()))
            if pending.due > until:
                self._timer = loop.call_at(pending.due, self._tick, loop)
                return
            self._flush(conversation_id)

    def _flush(self, conversation_id: UUID) -> None:
        if pending := self._pending.pop(conversation_id, None):
            self._send(conversation_id, pending.kind, pending.message_id, pending.at, "".join(pending.pieces))

    def _send(self, conversation_id: UUID, kind: EventType, message_id: str, at: int, text: str) -> None:
        event = Event(kind, {"id": message_id, "text": text, "at": at})
        for listener in self.listeners.get(conversation_id, ()):
            listener.put(event)
        if self.peers:
            self.peers.put(conversation_id, event)


hub = Hub()


def publish(conversation_id: UUID, type: EventType | Signal, **data: Any) -> None:
    """Send an event to all listeners of the conversation. Call it after the commit that the event reports."""
    hub.publish(conversation_id, Event(type, data))
