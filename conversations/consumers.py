"""The socket of an open conversation: it tells, and takes no orders."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from autobahn.exception import Disconnected
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import InterfaceError, OperationalError, close_old_connections

from conversations import fragments, limits, metrics, turn
from conversations.access import own_conversations
from conversations.admission import Admission, watched
from conversations.events import hub
from conversations.growing import Growing, so_far
from conversations.listener import RESYNC, Event, Listener

# Codes of an application: the server under it can send no others.
SIGNED_OUT, DENIED, UNSUPPORTED, POLICY, BROKEN = 4401, 4403, 4003, 4008, 4011
FRAMES = 50
"""That a client may send before it is taken for a flood: the page sends none."""

AWAY_SECONDS = 1.0
"""Between two looks whether the database is there again."""
LARGEST = 60_000
"""Bytes of a frame: none of more than MAX_FRAME_BYTES goes either way. What is larger the page fetches by HTTP."""

logger = logging.getLogger(__name__)


class ConversationConsumer(AsyncWebsocketConsumer):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with ExitStack() as self.open:  # however it ends, nothing of it is left
            await super().__call__(scope, receive, send)

    async def connect(self) -> None:
        self.received = 0
        self.growing, self.plain = Growing(""), ""
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["pk"]
        user = self.scope["user"]
        if not user.is_authenticated:
            await self.accept()  # or its page would try again and again, and never hear why
            await self.close(SIGNED_OUT)
            return
        if not await own_conversations(user).filter(pk=self.conversation_id).aexists():
            await self.close(DENIED)
            return
        if not self.open.enter_context(limits.one_more_socket(user.pk)):
            # Accepted first: a page that is only denied tries again and again.
            await self.accept()
            await self.close(POLICY)
            return
        self.open.enter_context(metrics.sockets.track_inprogress())
        # Listening begins before the page hears that it is connected: it fetches then what it has missed.
        listener = self.open.enter_context(hub.listen(self.conversation_id))
        await self.accept()
        self._forget_handshake()
        writer = asyncio.create_task(self._write(listener))
        self.open.callback(writer.cancel)
        self.closing: set[asyncio.Task[None]] = set()
        admission = self.open.enter_context(watched(Admission(partial(self._sign_out, writer))))
        admission.by_session(user, self.scope["session_key"])

    def _sign_out(self, writer: asyncio.Task[None]) -> None:
        """Nothing more is said, and the page goes to the sign-in."""
        writer.cancel()
        task = asyncio.get_running_loop().create_task(self._end())
        self.closing.add(task)
        task.add_done_callback(self.closing.discard)

    async def _end(self) -> None:
        with suppress(Disconnected, OSError):
            await self.close(SIGNED_OUT)

    def _forget_handshake(self) -> None:
        """What a browser sends to open a socket: 2 KB that all middleware shares, for as long as the page is open."""
        self.scope["headers"].clear()

    async def disconnect(self, code: int) -> None:
        self.open.close()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.received += 1
        if bytes_data is not None or self.received > FRAMES:
            await self.close(POLICY if bytes_data is None else UNSUPPORTED)
            raise StopConsumer  # what else it has sent is read by nobody

    async def _write(self, listener: Listener) -> None:
        try:
            async for event in listener:
                try:
                    html = await self._rendered(event)
                except (OperationalError, InterfaceError) as error:
                    await self._wait_for_database(listener, error)
                    continue
                if html:
                    await self.send(text_data=html)
        except (Disconnected, OSError):
            return  # the page was closed or loaded again, which is no fault
        except Exception:
            logger.exception("the socket of conversation %s broke", self.conversation_id)
            await self.close(BROKEN)

    async def _wait_for_database(self, listener: Listener, error: Exception) -> None:
        """The page keeps its socket, and fetches what it has missed once that can be read again."""
        logger.error("socket: the database cannot be used (%s)", type(error).__name__)
        await sync_to_async(close_old_connections)()
        await asyncio.sleep(AWAY_SECONDS)
        listener.put(RESYNC)

    async def _rendered(self, event: Event) -> str:
        if event.type == "message.delta":
            html = await self._grown(event)
        else:
            if event.type in ("message.done", "message.failed", "resync"):
                self.growing, self.plain = Growing(""), ""
            html = await sync_to_async(fragments.render)(self.conversation_id, event)
        return html if len(html.encode()) <= LARGEST else fragments.refetch(self.conversation_id)

    async def _grown(self, event: Event) -> str:
        """A piece of a reply: most are put behind what is shown; those that end a line may change how that is read."""
        id, text, at = event.data["id"], event.data["text"], event.data["at"]
        if self.plain == id:
            return fragments.delta(event)
        if self.growing.id != id or self.growing.read != at:
            known = turn.heard(self.conversation_id, id)[:at]
            if len(known) < at:  # as in a process that began in its middle
                self.plain = id
                return fragments.delta(event)
            self.growing = (await asyncio.to_thread(so_far, id, known))[0] if at else Growing(id)
        if "\n" in text:
            return await asyncio.to_thread(fragments.grown, self.growing, event)
        return fragments.grown(self.growing, event)
