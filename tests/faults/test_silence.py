"""How long a silent model is waited for: as long as the site says, and not as long as a connection is kept alive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chatsite import settings as product
from conversations.gateway import provider_stream, upstream
from conversations.llm import errors
from conversations.llm.errors import BrokenReply
from conversations.llm.profiles import connect
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import whole_seconds
from conversations.models import Message, ModelProfile
from conversations.turns import stop
from tests.conversations.chat import Chat
from tests.conversations.conftest import chat
from tests.faults.providers import KEY, Naps, completed, streamed
from tests.llm_server import LlmServer, listen

__all__ = ["chat"]

EMPTY = b'data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}\n\n'
THOUGHT = b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": null}]}\n\n'
WORD = b'data: {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": null}]}\n\n'
END = b'data: {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


@asynccontextmanager
async def server(piece: bytes, *, times: int, last: bytes = b"", every: float = 0.05) -> AsyncIterator[str]:
    """One that says the same again and again, then the last."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for _ in range(times):
            if writer.is_closing():
                return
            writer.write(piece)
            await asyncio.sleep(every)
        writer.write(last)
        writer.close()

    server, port = await listen(serve)
    async with server:
        yield f"http://127.0.0.1:{port}/v1"
        server.close_clients()


def model_at(url: str, *, timeout: float) -> OpenAICompatible:
    return OpenAICompatible(name="Writer", model="w", base_url=url, api_key=KEY, timeout=timeout, sleep=Naps())


def test_a_model_may_be_silent_for_ten_minutes_unless_the_site_says_otherwise(settings: Any) -> None:
    assert product.MODEL_TIMEOUT_SECONDS == 600
    settings.MODEL_TIMEOUT_SECONDS = 7.5
    assert connect(ModelProfile(name="w", model_id="w"))._endpoint.timeout == 7.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(("timeout", "whole"), [(0.4, 2.0), (60, 300), (75, 375), (600, 900), (3_600, 3_900)])
def test_a_summary_is_not_waited_for_many_times_as_long(timeout: float, whole: float) -> None:
    assert whole_seconds(timeout) == whole


@pytest.mark.parametrize("piece", [b": still here\n\n", EMPTY])
async def test_what_keeps_a_connection_alive_does_not_stay_the_time_out(piece: bytes) -> None:
    async with server(piece, times=200) as url:
        began = time.monotonic()
        with pytest.raises(errors.ModelError, match="nothing came"):
            await streamed(model_at(url, timeout=0.4))
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("piece", [THOUGHT, WORD])
async def test_thoughts_and_words_do(piece: bytes) -> None:
    async with server(piece, times=16, last=END, every=0.1) as url:
        deltas = await streamed(model_at(url, timeout=1.0))
    assert "".join(delta.text for delta in deltas).endswith("Yes.")


async def test_a_whole_reply_has_an_end_however_much_is_said() -> None:
    async with server(WORD, times=400) as url:
        with pytest.raises(errors.Unavailable, match="was not whole after"):
            await completed(model_at(url, timeout=0.3))


async def test_a_gateways_stream_ends_too_where_only_its_connection_is_kept_alive(settings: Any) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 0.4
    take = partial(provider_stream.take_chunk, with_usage=True)
    async with server(b": still here\n\n", times=200) as url:
        profile = ModelProfile(name="m", model_id="m", provider="openai", base_url=url, api_key=KEY)
        async with upstream.ask_upstream(profile, {"messages": [], "stream": True}, asking=lambda: None) as of:
            with pytest.raises(BrokenReply, match="nothing came"):
                async with asyncio.timeout(5):
                    [_ async for _ in provider_stream.events(of, provider_stream.Tally(), take)]


async def test_a_reply_outlives_many_leases_while_its_model_says_nothing(chat: Chat, settings: Any) -> None:
    """As one of ten minutes outlives ten: the lease is renewed by who waits, and nobody else takes the reply up."""
    settings.LEASE_SECONDS, settings.MODEL_TIMEOUT_SECONDS = 0.4, 20
    chat.llm.enqueue("At last.", delay=2)
    reply = await chat.say("Think about it")
    assert (reply.status, reply.content, len(chat.llm.requests)) == ("complete", "At last.", 1)


async def test_a_silent_model_can_be_stopped_at_once(chat: Chat, settings: Any) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 60
    chat.llm.enqueue("Never.", delay=30)
    begun = await chat.send("Think about it")
    async with asyncio.timeout(10):
        while not chat.llm.requests:
            await asyncio.sleep(0.01)
    began = time.monotonic()
    assert await sync_to_async(stop.stop)(chat.conversation)
    reply = await chat.ended(begun.reply.pk)
    assert (reply.status, time.monotonic() - began < 5) == ("stopped", True)


async def test_silence_longer_than_the_limit_ends_a_reply_and_says_how_long_it_was(chat: Chat, settings: Any) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 1.0
    chat.llm.enqueue("Too late.", delay=30)
    reply = await chat.say("Think about it")
    assert (reply.status, "for 1 second" in reply.error) == ("failed", True)
    assert await Message.objects.filter(role="assistant").acount() == 1


async def test_the_scripted_server_is_waited_for_beyond_what_once_was_the_limit(llm: LlmServer) -> None:
    llm.enqueue("Here I am.", delay=0.8)
    deltas = await streamed(model_at(llm.url, timeout=1.6))
    assert "".join(delta.text for delta in deltas) == "Here I am."
