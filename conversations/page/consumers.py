"""The WebSocket of an open conversation page: it sends HTML fragments for events, and accepts no commands."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils import translation

from conversations import limits
from conversations.access import is_own_chat
from conversations.admission import Admission, watched
from conversations.page import fragments
from conversations.page.markup.streaming import StreamedMarkdown, so_far
from conversations.runtime import metrics
from conversations.runtime.event_types import ENDS, EventType
from conversations.runtime.events import hub
from conversations.runtime.subscription import RESYNC, Event, Listener
from conversations.turns import running_replies

# Close codes from the range for applications: the server below accepts no others.
SIGNED_OUT, DENIED, UNSUPPORTED, POLICY, BROKEN = 4401, 4403, 4003, 4008, 4011
MAX_RECEIVED_FRAMES = 50
"""Frames that a client may send before the socket closes. The page itself sends none."""

DATABASE_RETRY_SECONDS = 1.0
"""The wait between two attempts to reach the database."""
MAX_FRAGMENT_BYTES = 60_000
"""The most bytes of a frame, below the server's MAX_FRAME_BYTES. The page fetches larger fragments by HTTP."""
ASK_FOR_CHANGES = "<!-- ask for changes -->"
"""The frame in place of a larger fragment; `thread.js` then fetches the changes."""

logger = logging.getLogger(__name__)


class ConversationConsumer(AsyncWebsocketConsumer):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with ExitStack() as self.open:  # releases everything, however the connection ends
            await super().__call__(scope, receive, send)

    async def connect(self) -> None:
        self.received = 0
        self.reply_markdown, self.plain = StreamedMarkdown(""), ""
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["pk"]
        user = self.scope["user"]
        if not user.is_authenticated:
            await self.accept()  # a page whose socket is only denied would retry for ever, without a reason
            await self.close(SIGNED_OUT)
            return
        if not await sync_to_async(is_own_chat)(user, self.conversation_id):
            await self.close(DENIED)
            return
        if not self.open.enter_context(limits.one_more_socket(user.pk)):
            # Accept first: a page whose socket is only denied retries for ever.
            await self.accept()
            await self.close(POLICY)
            return
        self.open.enter_context(metrics.sockets.track_inprogress())
        # Listen before the page learns that it is connected, since it then fetches the events that it missed.
        listener = self.open.enter_context(hub.listen(self.conversation_id))
        await self.accept()
        self._forget_handshake()
        writer = asyncio.create_task(self._write(listener))
        self.open.callback(writer.cancel)
        self.closing: set[asyncio.Task[None]] = set()
        admission = self.open.enter_context(watched(Admission(partial(self._sign_out, writer))))
        admission.by_session(user, self.scope["session_key"])

    def _sign_out(self, writer: asyncio.Task[None]) -> None:
        """Stop sending events, and close with the code that takes the page to the sign-in."""
        writer.cancel()
        task = asyncio.get_running_loop().create_task(self._end())
        self.closing.add(task)
        task.add_done_callback(self.closing.discard)

    async def _end(self) -> None:
        with suppress(OSError):
            await self.close(SIGNED_OUT)

    def _forget_handshake(self) -> None:
        """Free the handshake's headers: 2 KB that middleware would keep for as long as the page is open."""
        self.scope["headers"].clear()

    async def disconnect(self, code: int) -> None:
        self.open.close()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.received += 1
        if bytes_data is not None or self.received > MAX_RECEIVED_FRAMES:
            await self.close(POLICY if bytes_data is None else UNSUPPORTED)
            raise StopConsumer  # ignores the frames that the client has sent since

    async def _write(self, listener: Listener) -> None:
        translation.activate(self.scope["language"])
        try:
            async for event in listener:
                try:
                    html = await self._rendered(event)
                except (OperationalError, InterfaceError) as error:
                    await self._wait_for_database(listener, error)
                    continue
                if html:
                    await self.send(text_data=html)
        except OSError:
            return  # the page was closed or reloaded, which is no error
        except Exception:
            logger.exception("the socket of conversation %s broke", self.conversation_id)
            await self.close(BROKEN)

    async def _wait_for_database(self, listener: Listener, error: Exception) -> None:
        """Keep the socket open, and tell the page to fetch missed events once the database can be read again."""
        logger.error("socket: the database cannot be used (%s)", type(error).__name__)
        await sync_to_async(close_old_connections)()
        await asyncio.sleep(DATABASE_RETRY_SECONDS)
        listener.put(RESYNC)

    async def _rendered(self, event: Event) -> str:
        if event.type == EventType.MESSAGE_DELTA:
            html = await self._grown(event)
        elif event.type == EventType.MESSAGE_THOUGHT:
            html = fragments.thought(event)
        else:
            if event.type in (*ENDS, EventType.RESYNC):
                self.reply_markdown, self.plain = StreamedMarkdown(""), ""
            html = await sync_to_async(fragments.render_event)(self.conversation_id, event)
        return html if len(html.encode()) <= MAX_FRAGMENT_BYTES else ASK_FOR_CHANGES

    async def _grown(self, event: Event) -> str:
        """The fragment for a piece of a reply. Most pieces are appended; the end of a line may change the markup."""
        id, text, at = event.data["id"], event.data["text"], event.data["at"]
        if self.plain == id:
            return fragments.delta(event)
        if self.reply_markdown.id != id or self.reply_markdown.read != at:
            known = running_replies.heard(self.conversation_id, id)[:at]
            if len(known) < at:  # this process did not see the reply's beginning
                self.plain = id
                return fragments.delta(event)
            self.reply_markdown = (await asyncio.to_thread(so_far, id, known))[0] if at else StreamedMarkdown(id)
        if "\n" in text:
            return await asyncio.to_thread(fragments.streamed, self.reply_markdown, event)
        return fragments.streamed(self.reply_markdown, event)
