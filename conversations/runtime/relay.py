"""Events between the processes of a site, over Redis: one message carries those of a moment for all conversations.

Every process that holds sockets reads one group, and tells its own listeners. A message has its sender and a number:
where one is missed, because Redis was away or a queue ran over, all pages of the receiver are told to fetch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

from conversations.runtime.events import hub
from conversations.runtime.subscription import Event

logger = logging.getLogger(__name__)

LAYER = "relay"
EVENTS, COMMANDS = "events", "commands"
BEAT = 1.0
"""Seconds between two messages of a process, at most: a lost one is noticed at the next."""
PATIENCE = 2.0
"""Seconds that Redis has to take a message."""
OUTBOX = 5_000
"""Events that may wait for Redis. Beyond it they are dropped, which the others notice by the number."""
FORGET = 100
"""Senders that are remembered: processes come and go."""


_telling: set[asyncio.Task[None]] = set()


class Relay:
    """One process's part of it, on its own loop. `hears`: it has listeners; else it takes commands only."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, hears: bool) -> None:
        self.loop = loop
        self.layer = get_channel_layer(LAYER)
        self.id = uuid4().hex
        self.groups = (EVENTS, COMMANDS) if hears else (COMMANDS,)
        self.outbox: list[list[Any]] = []
        self.number = 0
        self.heard: dict[str, int] = {}
        self.is_up = True
        self._wake = asyncio.Event()
        self._tasks = [loop.create_task(self._send_all()), loop.create_task(self._receive_all())]

    def put(self, conversation_id: UUID, event: Event) -> None:
        """For the other processes; on the loop. What is put at one moment goes out as one message."""
        if len(self.outbox) < OUTBOX:
            self.outbox.append([str(conversation_id), event.type, event.data])
        else:
            self.number += 1
        self._wake.set()

    async def stop(self) -> None:
        """Send what waits, then no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._send(), BEAT)
        with contextlib.suppress(Exception):
            await self.layer.flush()

    async def _send_all(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), BEAT)
            self._wake.clear()
            try:
                await asyncio.wait_for(self._send(), PATIENCE)  # one that answers nothing holds the layer's lock
            except Exception as error:
                self._say(up=False, why=error)
                await asyncio.sleep(BEAT)
            else:
                self._say(up=True)

    async def _send(self) -> None:
        events, self.outbox = self.outbox, []
        self.number += 1
        await self.layer.group_send(EVENTS, message(self.id, self.number, events))

    async def _receive_all(self) -> None:
        while True:
            try:
                channel = await self.layer.new_channel()
                for group in self.groups:
                    await self.layer.group_add(group, channel)
                while True:
                    self._heed(await self.layer.receive(channel))
            except Exception as error:
                self._say(up=False, why=error)
                await asyncio.sleep(BEAT)

    def _heed(self, told: dict[str, Any]) -> None:
        try:
            self.take(told)
        except Exception:  # of another version, as while a site is upgraded
            logger.exception("what another process has sent could not be read")
            hub.resync_all()

    def take(self, told: dict[str, Any]) -> None:
        """What another process has sent; our own comes back too, and is known already."""
        sender, number = told["from"], told["number"]
        if sender == self.id:
            return
        if number and self._missed(sender, number):
            hub.resync_all()
        for conversation_id, type, data in told["events"]:
            hub.hear(UUID(conversation_id), Event(type, data))

    def _missed(self, sender: str, number: int) -> bool:
        last = self.heard.pop(sender, None)
        self.heard[sender] = number
        if len(self.heard) > FORGET:
            del self.heard[next(iter(self.heard))]
        return last is not None and number != last + 1

    def _say(self, *, up: bool, why: Exception | None = None) -> None:
        if up and not self.is_up:
            logger.warning("Redis is there again: pages fetch what they have missed.")
        elif not up and self.is_up:
            logger.warning(
                "REDIS_URL: Redis cannot be used (%s). Pages work, but do not hear of other processes.",
                type(why).__name__,
            )
        self.is_up = up


def message(sender: str, number: int, events: list[list[Any]]) -> dict[str, Any]:
    """`number` 0: from a process that sends no more, which nothing can be missed of."""
    return {"type": "relay", "from": sender, "number": number, "events": events}


def attach(loop: asyncio.AbstractEventLoop, *, hears: bool) -> Relay | None:
    """Connect this process with the others, where there can be any."""
    if not settings.REDIS_URL:
        return None
    relay = Relay(loop, hears=hears)
    hub.peers = relay
    return relay


def detach() -> None:
    hub.peers = None


def relay_event(group: str, conversation_id: UUID, type: str, **data: Any) -> None:
    """One event to the other processes, from a thread of one that may have no loop, such as a command's."""
    if not settings.REDIS_URL:
        return
    told = message(uuid4().hex, 0, [[str(conversation_id), type, data]])
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        async_to_sync(_send)(group, told)
    else:
        task = loop.create_task(_send(group, told))
        _telling.add(task)
        task.add_done_callback(_telling.discard)


async def _send(group: str, told: dict[str, Any]) -> None:
    try:
        await asyncio.wait_for(get_channel_layer(LAYER).group_send(group, told), PATIENCE)
    except Exception as error:
        logger.warning("REDIS_URL: Redis cannot be used (%s): other processes are not told.", error.__class__.__name__)


def _afar(conversation_id: UUID, event: Event) -> None:
    """From a process that has no part in this, such as a command: it has something to say all the same."""
    relay_event(EVENTS, conversation_id, event.type, **event.data)


hub.afar = _afar
