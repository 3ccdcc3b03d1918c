"""One page's socket, as a browser opens it, and what it hears."""

from __future__ import annotations

import asyncio
import base64
import os
import struct
import time
from typing import Any

HEADERS = (
    "Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nCookie: csrftoken={token}; sessionid={cookie}\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 "
    "Safari/537.36\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
)
UPGRADE = (
    "GET /ws/conversations/{id}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
)
"""What a browser offers, compression included: only then is it seen what a server makes of it."""
PING, CLOSE = 0x89, 0x88


def head(lines: str, *, port: int, cookie: str, id: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (lines + HEADERS + "\r\n").format(port=port, cookie=cookie, token="t" * 32, id=id, key=key).encode()


class Heard:
    """What has come to all sockets of the process."""

    def __init__(self) -> None:
        self.frames = self.tokens = self.others = 0
        self.late: list[float] = []

    def delta(self, text: bytes) -> None:
        """The oldest token of a frame is what has waited longest."""
        sent, _, _ = text.partition(b"|")
        self.late.append(time.monotonic() - float(sent))
        self.frames += 1
        self.tokens += text.count(b"|")


class Socket(asyncio.Protocol):
    """One page's socket. `opened` ends when the server has accepted, or fails when it has not; `closed` at its end."""

    def __init__(self, request: bytes, heard: Heard) -> None:
        loop = asyncio.get_running_loop()
        self.request = request
        self.heard = heard
        self.opened: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.rest = b""
        self.read = self.read_head

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self.request)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionError(self.rest[:200].decode()))
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self.rest:
            data = self.rest + data
        self.rest = self.read(data)

    def read_head(self, data: bytes) -> bytes:
        answer, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return data
        if not answer.startswith(b"HTTP/1.1 101"):
            self.transport.abort()
            return answer
        self.read = self.read_frames
        self.opened.set_result(None)
        return self.read_frames(rest)

    def read_frames(self, data: bytes) -> bytes:
        at = 0
        while len(data) - at >= 2:
            length, body = data[at + 1], at + 2
            if length == 126:
                if len(data) - at < 4:
                    break
                length, body = struct.unpack_from("!H", data, at + 2)[0], at + 4
            end = body + length
            if len(data) < end:
                break
            self.take(data[at], data[body:end])
            at = end
        return data[at:]

    def take(self, kind: int, body: bytes) -> None:
        if kind == PING:
            self.transport.write(bytes((0x8A, 0x80 | len(body), 0, 0, 0, 0)) + body)
        elif kind == CLOSE:
            self.transport.close()
        elif body.startswith(b'<span hx-swap-oob="beforeend:#text-m-'):
            self.heard.delta(body[body.index(b">") + 1 : -7])
        else:
            self.heard.others += 1


async def opened(*, port: int, cookie: str, id: str, heard: Heard) -> Socket:
    """Raises OSError where the server is not there, or does not accept."""
    request = head(UPGRADE, port=port, cookie=cookie, id=id)
    loop = asyncio.get_running_loop()
    _, socket = await loop.create_connection(lambda: Socket(request, heard), "127.0.0.1", port)
    await socket.opened
    return socket
