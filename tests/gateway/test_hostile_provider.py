"""A provider that packs a bomb, never ends, answers an error of many megabytes, or redirects the conversation."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conversations.gateway import provider_stream
from conversations.llm.errors import BrokenReply, ModelError
from conversations.llm.profiles import connect
from conversations.llm.request import Prompt
from conversations.models import ModelProfile
from tests.gateway.test_reading import TAKE, asked, chunk
from tests.llm_server import listen

MB = 1_000_000
GOOD = (chunk("a", finish="stop") + "\n\ndata: [DONE]\n\n").encode()


@asynccontextmanager
async def provider(*pieces: bytes, kind: str = "text/event-stream", status: int = 200, more: str = "") -> Any:
    """The address of a provider, and the requests that it got; it sends `pieces` as fast as they are read."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\r\n".encode())
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    server, port = await listen(serve)
    async with server:
        yield f"http://127.0.0.1:{port}/v1", heard
        server.close_clients()


@pytest.fixture
def memory() -> Iterator[None]:
    """At most 160 MB are held at once, as JSON of 50 MB is read."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 160 * MB
    finally:
        tracemalloc.stop()


async def by_gateway(url: str, *, is_stream: bool = True) -> None:
    async with asked(url, stream=is_stream) as of:
        if of.is_stream:
            async for _ in provider_stream.events(of, provider_stream.Tally(), TAKE):
                pass
        else:
            await provider_stream.whole(of)


async def by_chat(url: str) -> None:
    profile = ModelProfile(name="m", model_id="m", provider="openai", base_url=url, api_key="k")
    async for _ in connect(profile).stream(Prompt(({"role": "user", "content": "Hello."},))):
        pass


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """400 MB, packed to .4."""
    return gzip.compress(b"a" * MB * 400, 9)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("ask", [by_gateway, by_chat])
async def test_a_packed_bomb_is_not_unpacked(bomb: bytes, memory: None, ask: Any, kind: str) -> None:
    began = time.process_time()
    async with provider(bomb, kind=kind, more="Content-Encoding: gzip\r\n") as (url, _):
        with pytest.raises(BrokenReply, match="does not end its"):
            await ask(url)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
async def test_what_cannot_be_unpacked_piece_by_piece_is_refused(bomb: bytes, encoding: str) -> None:
    async with provider(bomb, more=f"Content-Encoding: {encoding}\r\n") as (url, heard):
        with pytest.raises(BrokenReply, match="not asked for"):
            await by_gateway(url)
    assert b"accept-encoding: gzip, deflate\r\n" in heard[0].lower()


@pytest.mark.parametrize(
    ("encoding", "content"),
    [("gzip", gzip.compress(GOOD)), ("deflate", zlib.compress(GOOD)), ("deflate", zlib.compress(GOOD)[2:-4])],
)
async def test_usual_packing_passes(encoding: str, content: bytes) -> None:
    async with provider(content, more=f"Content-Encoding: {encoding}\r\n") as (url, _):
        await by_gateway(url)
        await by_chat(url)


@pytest.mark.parametrize("ask", [by_gateway, by_chat])
async def test_a_line_without_an_end_is_refused(memory: None, ask: Any) -> None:
    async with provider(b"data: ", *[b"x" * 65_536] * 600) as (url, _):
        with pytest.raises(BrokenReply, match="does not end its answer"):
            await ask(url)


@pytest.mark.parametrize("status", [400, 500])
async def test_of_an_error_of_many_megabytes_the_beginning_is_read(memory: None, status: int) -> None:
    began = time.process_time()
    async with provider(b'{"error": {"message": "', b"x" * 50 * MB, b'"}}', status=status) as (url, _):
        for ask in (by_gateway, by_chat):
            with pytest.raises((ModelError, Exception), match="provider"):
                await ask(url)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("ask", [by_gateway, by_chat])
async def test_a_conversation_follows_no_redirect_to_another_address(ask: Any) -> None:
    async with (
        provider(GOOD) as (elsewhere, heard),
        provider(status=307, more=f"Location: {elsewhere}/chat/completions\r\n") as (url, _),
    ):
        with pytest.raises(BrokenReply, match="redirects to another address"):
            await ask(url)
    assert heard == []


async def test_a_redirect_within_the_address_is_followed() -> None:
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        seen.append(head.split()[1])
        moved = "HTTP/1.1 307 Moved\r\nLocation: /v1/chat/completions/\r\nContent-Length: 0\r\n"
        ok = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        writer.write(f"{ok if seen[-1].endswith('/') else moved}Connection: close\r\n\r\n".encode())
        writer.write(GOOD if seen[-1].endswith("/") else b"")
        await writer.drain()
        writer.close()

    server, port = await listen(serve)
    async with server:
        await by_gateway(f"http://127.0.0.1:{port}/v1")
        server.close_clients()
    assert seen == ["/v1/chat/completions", "/v1/chat/completions/"]


async def test_a_stream_without_an_end_is_refused(memory: None) -> None:
    event = chunk("x" * 60_000).encode() + b"\n\n"
    async with provider(*[event] * 2_000) as (url, _):
        with pytest.raises(BrokenReply, match="does not end its answer"):
            await by_gateway(url)
