"""Sends a listener's events to a program: each once, and no reply with a gap."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, close_old_connections

from conversations.api.events import catch_up, cursor
from conversations.api.events.catch_up import MissedEvents, SentEvent
from conversations.models import Conversation
from conversations.runtime.event_types import ENDS, EventType
from conversations.runtime.shutdown import END
from conversations.runtime.subscription import RESYNC, Event, Listener

logger = logging.getLogger(__name__)

DELETED = Event(EventType.CONVERSATION_DELETED)
BLIND_SECONDS = 5.0
"""Seconds between two readings of the rows for text that was not received: another process writes it, and saves it at
times.
"""


class Subscription:
    """A program's subscription to a conversation from `begun` on, which was read after `listener` began to listen."""

    def __init__(self, conversation_id: UUID, listener: Listener, begun: MissedEvents) -> None:
        self.conversation_id, self.listener = conversation_id, listener
        self._blind_until = 0.0
        self.ended: set[tuple[str, str]] = set()
        self.waiting, self.place = begun.events, begun.place
        self._take(begun)

    async def events(self, *, silence: float, until: float) -> AsyncIterator[SentEvent | None]:
        """The events until the conversation is deleted, the server stops, or the loop's clock says `until`; None for a
        silence.
        """
        while True:
            for sent in self.waiting:
                yield sent
                if sent.event == DELETED:
                    return
            self.waiting = []
            left = until - self.listener.loop.time()
            event = await heard(self.listener, min(silence, left)) if left > 0 else END
            if event == END:
                return
            if event is None:
                yield None
            try:
                self.waiting = await self._after(event) if event else []
            except (OperationalError, InterfaceError) as error:
                logger.error("events: the database cannot be used (%s)", type(error).__name__)
                await sync_to_async(close_old_connections)()
                return

    async def _after(self, event: Event) -> list[SentEvent]:
        """The events to send after this one was received."""
        before: list[SentEvent] = []
        if event == RESYNC or self._lacks(event):
            before = await self._read(resync=event == RESYNC)
        fresh = self._fresh(event)
        return [*before, self._sent(fresh)] if fresh else before

    def _fresh(self, event: Event) -> Event | None:
        """The part of an event that was not sent from the rows already."""
        data, place = event.data, self.place
        match event.type:
            case EventType.MESSAGE_CREATED:
                return event if cursor.moment_of(data["message"]) > place.at else None
            case EventType.MESSAGE_DELTA:
                return self._unheard(event)
            case EventType.MESSAGE_DONE | EventType.MESSAGE_FAILED:
                return event if data["message"]["id"] == self.reply_id else None
            case EventType.COMPACTION_STARTED:
                known = cursor.short(data["id"]) == place.folding or data["id"] in {id for id, _ in self.ended}
                return None if known else event
            case EventType.COMPACTION_PROGRESS:
                return event if cursor.short(data["id"]) == place.folding else None
            case EventType.COMPACTION_COMPLETED:
                return None if (data["id"], data["status"]) in self.ended else event
            case EventType.RESYNC:
                return None
        return event

    def _unheard(self, event: Event) -> Event | None:
        text, known = event.data["text"], self.place.received - event.data["at"]
        if event.data["id"] != self.reply_id or not 0 <= known < len(text):
            return None
        return replace(event, data=event.data | {"text": text[known:], "at": self.place.received}) if known else event

    def _lacks(self, event: Event) -> bool:
        """Whether text is missing before this event's, and the rows were not read for it just now."""
        is_gap = event.type == EventType.MESSAGE_DELTA and event.data["id"] == self.reply_id
        if not is_gap or event.data["at"] <= self.place.received or self.listener.loop.time() < self._blind_until:
            return False
        self._blind_until = self.listener.loop.time() + BLIND_SECONDS
        return True

    def _sent(self, event: Event) -> SentEvent:
        self.place = self.place.after(event)
        if event.type == EventType.MESSAGE_CREATED:
            self.reply_id = event.data["message"]["id"] if self.place.received == 0 else ""
        elif event.type in ENDS:
            self.reply_id = ""
        return SentEvent(event, self.place)

    async def _read(self, *, resync: bool) -> list[SentEvent]:
        try:
            found = await sync_to_async(catch_up.since)(self.conversation_id, self.place, resync=resync)
        except Conversation.DoesNotExist:
            return [SentEvent(DELETED, self.place)]
        self._take(found)
        return found.events

    def _take(self, found: MissedEvents) -> None:
        self.place, self.reply_id = found.place, found.reply_id
        self.ended |= found.ended


async def heard(listener: Listener, seconds: float) -> Event | None:
    """The next event; None if none comes in time."""
    try:
        return await asyncio.wait_for(listener.queue.get(), seconds)
    except TimeoutError:
        return None
