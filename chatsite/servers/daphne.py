"""daphne's server, with the bounds that it has no options for. Importing it chooses Twisted's reactor."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import daphne.server
from autobahn.exception import Disconnected
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from django.conf import settings
from twisted.internet import defer
from twisted.web.http import HTTPChannel

from chatsite.addresses import address_of
from chatsite.bodies import SMALL_BODY_BYTES, Held, is_sign_in
from chatsite.known_callers import has_credentials, is_known
from chatsite.refusal_responses import LINGER_SECONDS, BodyTooLarge, Busy, TooSlow, Unknown, answer
from chatsite.request_body import LARGE_BODY_BYTES
from chatsite.request_threads import MAX_END_SECONDS, wait_for_threads
from chatsite.servers.tcp_timeout import give_up_unread
from conversations.errors import Refused

LARGE_WAITING = 4
"""The most large bodies held at once: daphne passes each on in one piece."""
MAX_FRAGMENTS = 1_000
"""The most fragments of a message: empty ones add nothing to its size."""
TOO_BIG = 1009


class Channel(HTTPChannel):
    """A connection with a limited time to send a request, whose writer waits for a slow reader."""

    transport: Any
    _writable: asyncio.Event | None = None

    def connectionMade(self) -> None:
        super().connectionMade()
        give_up_unread(self.transport.getHandle())

    def resetTimeout(self) -> None:
        """Do not extend the time at every byte: it is for the whole request."""

    def allHeadersReceived(self) -> None:
        self.setTimeout(settings.BODY_SECONDS)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:
        self.setTimeout(settings.HEAD_SECONDS)  # for the next request
        super().allContentReceived()

    def timeoutConnection(self) -> None:
        if not self.requests:
            super().timeoutConnection()
        elif hasattr(self.requests[-1], "asked"):
            self.requests[-1].refuse(TooSlow("body", settings.BODY_SECONDS))
        else:
            self.requests[-1].refuse(TooSlow("headers", settings.HEAD_SECONDS))

    async def writable(self) -> None:
        """Wait until the peer has read what was sent, or is gone."""
        if self._writable is None:
            self._writable = asyncio.Event()
        await self._writable.wait()

    def pauseProducing(self: Any) -> None:
        super().pauseProducing()
        # Whatever it sends, a ping also, is answered: what it does not read is not to grow.
        self._networkProducer.pauseProducing()

    def resumeProducing(self: Any) -> None:
        super().resumeProducing()
        self._networkProducer.resumeProducing()
        self._let_write()

    def stopProducing(self) -> None:
        super().stopProducing()
        self._let_write()

    def _let_write(self) -> None:
        if self._writable is not None:
            self._writable.set()
            self._writable = None


class Request(WebRequest):
    """A request whose body is refused as soon as it is known to be too large: daphne would read all of it first."""

    asked: tuple[bytes, bytes]
    received = 0
    refused = False
    most = 0
    held: Held
    asking: asyncio.Task[None] | None = None

    def gotLength(self, length: int | None) -> None:
        self.asked = self.channel._command, self.channel._path
        super().gotLength(length)
        method, path = (part.decode("latin1") for part in self.asked)
        self.most = SMALL_BODY_BYTES if is_sign_in(method, path.partition("?")[0]) else settings.MAX_BODY_BYTES
        self.held = Held(address_of(self.channel.transport.getPeer().host, self._headers()))
        if (length or 0) > self.most:
            self.refuse(BodyTooLarge(self.most))
        elif (length or 0) > SMALL_BODY_BYTES:
            self._require_known()
            self._reserve(length or 0)
        if not self.refused and (length or 0) > LARGE_BODY_BYTES and len(self.server.large) >= LARGE_WAITING:
            self.refuse(Busy())

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        if self.refused:
            return
        if self.received > self.most:
            self.refuse(BodyTooLarge(self.most))
            return
        self._reserve(self.received)
        if self.held.is_large and not self.refused:
            self._require_known()
        if self.refused:
            return
        super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        if self.server.is_closed:
            self.channel.loseConnection()
            return
        if not self.refused and self.received > LARGE_BODY_BYTES:
            if len(self.server.large) >= LARGE_WAITING:
                self.refuse(Busy())
            else:
                self.server.large.add(self)
        if self.refused:
            self.channel.loseConnection()
            return
        if self.asking:
            self.asking.cancel()  # from here on `chatsite.receiving` does what is done here
        self.held.close()
        self._parsePOSTFormSubmission = False  # Django does that
        super().requestReceived(command, path, version)

    def connectionLost(self, reason: Any) -> None:
        if hasattr(self, "held"):
            self.held.close()
        super().connectionLost(reason)

    def _require_known(self) -> None:
        """Refuse a large body as soon as its sender is known to have no session or key."""
        if self.asking is None:
            if not has_credentials(dict(self._headers())):
                self.refuse(Unknown(SMALL_BODY_BYTES))
            self.asking = asyncio.get_running_loop().create_task(self._refuse_stranger())

    def _reserve(self, size: int) -> None:
        if not self.refused:
            try:
                self.held.reserve(size)
            except Busy as refusal:
                self.refuse(refusal)

    async def _refuse_stranger(self) -> None:
        if not await is_known(self._headers(), self.held.address) and not self.refused:
            self.refuse(Unknown(SMALL_BODY_BYTES))

    def _headers(self) -> list[tuple[bytes, bytes]]:
        given = self.requestHeaders.getAllRawHeaders()
        return [(name.lower(), value) for name, values in given for value in values]

    def refuse(self, refusal: Refused) -> None:
        """Answer, and read the rest for a while: a client that still writes would not read the answer."""
        channel, self.refused = self.channel, True
        if hasattr(self, "held"):
            self.held.close()
            self.content.seek(0)
            self.content.truncate()
        method, path = (part.decode("latin1") for part in getattr(self, "asked", (b"GET", b"/")))
        is_htmx = self.requestHeaders.hasHeader(b"hx-request")
        headers, body = answer(refusal, path=path, method=method, is_htmx=is_htmx)
        status = HTTPStatus(refusal.status)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), *(b": ".join(pair) for pair in headers)]
        channel.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        asyncio.get_running_loop().call_later(LINGER_SECONDS, channel.loseConnection)


class Factory(HTTPFactory):
    protocol = Channel

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Request
        protocol.timeOut = settings.HEAD_SECONDS
        return protocol


class Socket(WebSocketProtocol):
    fragments = 0

    def onMessageBegin(self, isBinary: bool) -> None:
        self.fragments = 0
        super().onMessageBegin(isBinary)

    def onMessageFrameBegin(self, length: int) -> None:
        self.fragments += 1
        super().onMessageFrameBegin(length)
        if self.fragments > MAX_FRAGMENTS and not self.failedByMe:
            self._max_message_size_exceeded(self.fragments, MAX_FRAGMENTS, f"more than {MAX_FRAGMENTS} fragments")


class SocketFactory(WebSocketFactory):
    protocol = Socket

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.setProtocolOptions(failByDrop=False)  # say why, with a code


class Server(daphne.server.Server):
    def __init__(self, *args: Any, **options: Any) -> None:
        self.large: set[Request] = set()
        self.is_closed = False
        super().__init__(
            *args,
            websocket_max_message_size=settings.MAX_FRAME_BYTES,
            websocket_max_frame_size=settings.MAX_FRAME_BYTES,
            websocket_timeout=-1,
            **options,
        )

    def protocol_disconnected(self, protocol: Any) -> None:
        self.large.discard(protocol)
        super().protocol_disconnected(protocol)

    def kill_all_applications(self) -> Any:
        """Cancel all requests before the loop ends. daphne's own method fails on a connection without a request, and
        cancels none.
        """
        return defer.Deferred.fromFuture(asyncio.ensure_future(self.end_all()))

    async def end_all(self) -> None:
        """Cancel all requests and wait for their ends."""
        found = [details.get("application_instance") for details in self.connections.values()]
        if running := [application for application in found if application and not application.done()]:
            for application in running:
                application.cancel()
            await asyncio.wait(running, timeout=MAX_END_SECONDS)

    async def close(self) -> None:
        """Refuse new requests and end the running ones."""
        self.is_closed = True
        await self.end_all()
        await wait_for_threads()

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        """Wait for a slow reader instead of keeping all of the reply for it."""
        transport = protocol.transport
        while transport is not None and transport.producerPaused and transport.connected and transport.producer:
            await transport.producer.writable()
        try:
            await super().handle_reply(protocol, message)
        except Disconnected:
            raise ConnectionResetError("the socket is closed") from None  # as ASGI has it, and uvicorn


# The server makes its factories by these names.
daphne.server.HTTPFactory = Factory
daphne.server.WebSocketFactory = SocketFactory
