"""Bounds the answers of providers: bytes after unpacking, the length of an event, errors, and redirects.

A provider's server may be hostile, or broken: a packed answer can expand a thousandfold, and an endless one would fill
the memory. The bounds hold for every request of every client (`conversations.llm.clients`).
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

PACKED = "gzip, deflate"
"""The encodings that are requested. Others are refused: only these can be unpacked piece by piece."""
LARGEST_ANSWER = 100_000_000
"""The most bytes of an answer; 250,000 events of 400 bytes."""
LARGEST_EVENT, LARGEST_JSON = 16_000_000, 50_000_000
"""The most bytes between two ends of lines of an answer in events, and of one in JSON."""
LARGEST_OBJECT = 5_000_000
"""The most bytes of an object in place of a stream: it is parsed at once, on the event loop."""
LARGEST_ERROR, ERROR_SECONDS = 100_000, 10.0
"""The bytes and the seconds that are read of an error; the rest is left out."""
PIECE = 1_000_000
"""The most bytes that are unpacked at once."""
_BLANK = b" \t\r\n\xef\xbb\xbf"
"""White space and a byte order mark, which may stand before an object."""


class Unacceptable(httpx2.TransportError):
    """An answer is refused as too large, as packed in an unknown way, or as a redirect to another host.

    `unacceptable` is the reason, as a clause whose subject is the server.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.unacceptable = reason


async def watch(response: httpx2.Response) -> None:
    """Bound a response's body; a hook of a client, called before a redirect is followed. Raises Unacceptable."""
    if response.has_redirect_location:
        _require_same_origin(response)
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        raise Unacceptable("packs its answers in a way that was not asked for")
    if encoding not in ("identity", ""):
        del response.headers["content-encoding"]
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    most = LARGEST_JSON if "json" in response.headers.get("content-type", "") else LARGEST_EVENT
    response.stream = _Bounded(response.stream, encoding, longest_line=most, is_error=response.status_code >= 300)


def _require_same_origin(response: httpx2.Response) -> None:
    """The conversation and the key are for the host that was named."""
    here, there = response.request.url, response.request.url.join(response.headers["location"])
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise Unacceptable("redirects to another address, which is not followed")


class _Bounded(httpx2.AsyncByteStream):
    """A response's body, unpacked, within the bounds of this module; an error is cut, anything else is refused."""

    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, *, longest_line: int, is_error: bool) -> None:
        self._stream, self._longest_line, self._is_error = stream, longest_line, is_error
        self._unpacking = None if encoding in ("identity", "") else _Unpacking(encoding)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, line, began = 0, 0, time.monotonic()
        async for part in self._stream:
            for piece in self._unpacking.take(part) if self._unpacking else (part,):
                size += len(piece)
                end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
                line = line + len(piece) if end < 0 else len(piece) - 1 - end
                if self._is_error and (size > LARGEST_ERROR or time.monotonic() - began > ERROR_SECONDS):
                    yield piece[: max(0, LARGEST_ERROR - (size - len(piece)))]
                    return
                if size > LARGEST_ANSWER or line > self._longest_line:
                    raise Unacceptable("does not end its answer")
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class ObjectAsEvent(httpx2.AsyncByteStream):
    """A response with a single JSON object as an event of a stream; any other body ends with a blank line.

    Some servers answer with one object although they are asked to stream. Some send no blank line after the last event.
    """

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: list[bytes] = []
        is_object: bool | None = None
        size = 0
        async for piece in self._stream:
            if is_object is None and (begun := piece.lstrip(_BLANK)):
                is_object = begun.startswith(b"{")
            if not is_object:
                yield piece
                continue
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_OBJECT:
                raise Unacceptable("does not end its answer")
        yield _as_event(b"".join(pieces)) if pieces else b"\n\n"

    async def aclose(self) -> None:
        await self._stream.aclose()


def _as_event(content: bytes) -> bytes:
    try:
        data = json.dumps(json.loads(content))
    except ValueError:
        return content
    return f"data: {data}\n\n".encode()


class _Unpacking:
    """Unpacks gzip or deflate, at most PIECE bytes at a time."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._packed: Any = zlib.decompressobj(zlib.MAX_WBITS | 16 if "gzip" in encoding else zlib.MAX_WBITS)
        self._has_begun = False

    def take(self, part: bytes) -> Iterator[bytes]:
        rest = part
        while rest:
            try:
                piece = self._packed.decompress(rest, PIECE)
            except zlib.error:
                if self._has_begun or self._encoding != "deflate":
                    raise Unacceptable("sent an answer that cannot be unpacked") from None
                self._packed, piece = zlib.decompressobj(-zlib.MAX_WBITS), b""  # without a header, as some servers do
                self._has_begun = True
                continue
            self._has_begun = True
            rest = self._packed.unconsumed_tail
            if piece:
                yield piece
