"""Carries events between the processes of a site over Redis; one message has all events of a moment.

Every process with sockets reads one group and passes the events to its own listeners. Messages are numbered by their
sender. If a number is missing, as after an outage of Redis, the receiver has all of its pages fetch the present state.
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

from conversations.runtime.bounded_cache import BoundedCache
from conversations.runtime.events import hub
from conversations.runtime.subscription import Event

logger = logging.getLogger(__name__)

LAYER = "relay"
EVENTS, COMMANDS = "events", "commands"
BEAT_SECONDS = 1.0
"""A process sends a message at least this often; a lost message is noticed at the next one."""
SEND_TIMEOUT_SECONDS = 2.0
"""Redis must accept a message within this time."""
MAX_OUTBOX_EVENTS = 5_000
"""The most events that wait for Redis. Further ones are dropped; receivers notice it by the message's number."""
MAX_SENDERS = 100
"""The most senders whose last number is kept."""


_sending: set[asyncio.Task[None]] = set()


class Relay:
    """A process's connection to the others, on its own loop. With `hears`, it receives events, not only commands."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, hears: bool) -> None:
        self.loop = loop
        self.layer = get_channel_layer(LAYER)
        self.id = uuid4().hex
        self.groups = (EVENTS, COMMANDS) if hears else (COMMANDS,)
        self.outbox: list[list[Any]] = []
        self.number = 0
        self.heard: BoundedCache[str, int] = BoundedCache(MAX_SENDERS)
        self.is_up = True
        self._wake = asyncio.Event()
        self._tasks = [loop.create_task(self._send_all()), loop.create_task(self._receive_all())]

    def put(self, conversation_id: UUID, event: Event) -> None:
        """Queue an event for the other processes; all events of a moment go out in one message. Call it on the loop."""
        if len(self.outbox) < MAX_OUTBOX_EVENTS:
            self.outbox.append([str(conversation_id), event.type, event.data])
        else:
            self.number += 1
        self._wake.set()

    async def stop(self) -> None:
        """Send the waiting events, then stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._send(), BEAT_SECONDS)
        with contextlib.suppress(Exception):
            await self.layer.flush()

    async def _send_all(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), BEAT_SECONDS)
            self._wake.clear()
            try:
                await asyncio.wait_for(
                    self._send(), SEND_TIMEOUT_SECONDS
                )  # an unanswered send would hold the layer's lock
            except Exception as error:
                self._log_state(up=False, why=error)
                await asyncio.sleep(BEAT_SECONDS)
            else:
                self._log_state(up=True)

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
                self._log_state(up=False, why=error)
                await asyncio.sleep(BEAT_SECONDS)

    def _heed(self, content: dict[str, Any]) -> None:
        try:
            self.take(content)
        except Exception:  # a message of another version, as during an upgrade
            logger.exception("what another process has sent could not be read")
            hub.resync_all()

    def take(self, content: dict[str, Any]) -> None:
        """Pass on the events of another process's message; the process's own messages come back too and are ignored."""
        sender, number = content["from"], content["number"]
        if sender == self.id:
            return
        if number and self._missed(sender, number):
            hub.resync_all()
        for conversation_id, type, data in content["events"]:
            hub.hear(UUID(conversation_id), Event(type, data))

    def _missed(self, sender: str, number: int) -> bool:
        last = self.heard.get(sender)
        self.heard.put(sender, number)
        return last is not None and number != last + 1

    def _log_state(self, *, up: bool, why: Exception | None = None) -> None:
        if up and not self.is_up:
            logger.warning("Redis is there again: pages fetch what they have missed.")
        elif not up and self.is_up:
            logger.warning(
                "REDIS_URL: Redis cannot be used (%s). Pages work, but do not hear of other processes.",
                type(why).__name__,
            )
        self.is_up = up


def message(sender: str, number: int, events: list[list[Any]]) -> dict[str, Any]:
    """A message with these events. `number` 0: its sender numbers no messages, so none of them can be missed."""
    return {"type": "relay", "from": sender, "number": number, "events": events}


def attach(loop: asyncio.AbstractEventLoop, *, hears: bool) -> Relay | None:
    """Connect this process with the site's other processes; None without Redis."""
    if not settings.REDIS_URL:
        return None
    relay = Relay(loop, hears=hears)
    hub.peers = relay
    return relay


def detach() -> None:
    """Send this process's events to no other processes from now on."""
    hub.peers = None


def relay_event(group: str, conversation_id: UUID, type: str, **data: Any) -> None:
    """Send one event to the other processes, also from a thread without a loop, such as a management command's."""
    if not settings.REDIS_URL:
        return
    content = message(uuid4().hex, 0, [[str(conversation_id), type, data]])
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        async_to_sync(_send)(group, content)
    else:
        task = loop.create_task(_send(group, content))
        _sending.add(task)
        task.add_done_callback(_sending.discard)


async def _send(group: str, content: dict[str, Any]) -> None:
    try:
        await asyncio.wait_for(get_channel_layer(LAYER).group_send(group, content), SEND_TIMEOUT_SECONDS)
    except Exception as error:
        logger.warning("REDIS_URL: Redis cannot be used (%s): no other process hears.", error.__class__.__name__)


def _afar(conversation_id: UUID, event: Event) -> None:
    """Send an event from a process without a Relay, such as a management command."""
    relay_event(EVENTS, conversation_id, event.type, **event.data)


hub.afar = _afar
