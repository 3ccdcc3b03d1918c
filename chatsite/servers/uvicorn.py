"""uvicorn's connections, with the bounds that it has no options for.

`uvicorn --http chatsite.servers.uvicorn:Http --ws chatsite.servers.uvicorn:Socket chatsite.asgi:application`
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from django.conf import settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from conversations.runtime import shutdown

MAX_HEAD_BYTES = 65_536
"""The most bytes of a request's first line and headers."""
MAX_FRAGMENTS = 1_000
"""The most fragments of a message: empty ones add nothing to its size."""
TCP_USER_TIMEOUT = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Linux has this option. Elsewhere a peer that does not read is dropped when it answers no ping."""


def give_up_unread(connection: Any) -> None:
    """Have the kernel end a connection whose peer has read nothing of the waiting data for UNREAD_SECONDS."""
    if TCP_USER_TIMEOUT is not None:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, int(settings.UNREAD_SECONDS * 1000))


class Http(HttpToolsProtocol):
    """A connection with limits on the time and size of a request's head, and an end for peers that do not read."""

    _head: asyncio.TimerHandle | None = None
    _head_size = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = _answering_to_the_end(_without_proxy(self.app))

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        give_up_unread(transport.get_extra_info("socket"))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        is_head = self._head is not None
        super().data_received(data)
        if is_head and self._head is not None:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD_BYTES:
                self._refuse(431, f"headers: at most {MAX_HEAD_BYTES:,} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is not None:  # what comes after a body is read by nobody, and has no end
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._forget_head()
        super().on_headers_complete()

    def shutdown(self) -> None:
        super().shutdown()
        shutdown.notify_all()

    def _await_head(self) -> None:
        self._head_size = 0
        self._head = self.loop.call_later(settings.HEAD_SECONDS, self._late)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _late(self) -> None:
        self._head = None
        if self._head_size:
            self._refuse(408, f"headers: this request did not arrive within {settings.HEAD_SECONDS:g} seconds.")
        else:
            self.transport.close()

    def _refuse(self, status: int, text: str) -> None:
        self._forget_head()
        head = f"content-type: text/plain\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + (head + text).encode())
        self.transport.close()


def _without_proxy(app: Any) -> Any:
    """`app` without uvicorn's own trust in a proxy on this machine: chatsite.addresses trusts the configured ones."""
    return app.app if isinstance(app, ProxyHeadersMiddleware) else app


def _answering_to_the_end(app: Any) -> Any:
    """`app`, which ends a request with an answer when the server stops, if it has none yet."""

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        is_begun = False

        async def sending(message: Any) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:
            if not is_begun:
                from chatsite.refusal_responses import (  # the apps are there by now, unlike at the start
                    ServerStopping,
                    refuse,
                )

                await refuse(scope, None, send, ServerStopping())

    return answering


class Socket(WebSocketsSansIOProtocol):
    """A socket that takes only small frames, and reads no more from a peer that does not read."""

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        config.ws_max_size = settings.MAX_FRAME_BYTES
        config.ws_per_message_deflate = False  # 40 KB a socket, to make pieces of some words no smaller
        super().__init__(config, *args, **kwargs)
        self.app = _without_proxy(self.app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.read_paused:
            self.transport.resume_reading()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        elif not self.close_sent:
            self._fail(CloseCode.MESSAGE_TOO_BIG, f"more than {MAX_FRAGMENTS} fragments")

    def send_receive_event_to_app(self) -> None:
        # uvicorn would write a traceback to the log for each text that is not UTF-8.
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf_8(b"".join(self.frames)):
            self._fail(CloseCode.INVALID_DATA, "not UTF-8")
        else:
            super().send_receive_event_to_app()

    def _fail(self, code: CloseCode, reason: str) -> None:
        self.frames = []
        self.conn.fail(code, reason)
        self.handle_parser_exception()


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
