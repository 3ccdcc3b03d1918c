"""What providers send, to the byte: what passes is what they sent, and what they send wrongly is told in our words."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from conversations.errors import Refused
from conversations.gateway import provider_stream, upstream
from conversations.llm.errors import BrokenReply, ContextTooLong, ModelError
from conversations.models import ModelProfile
from tests.llm_server import listen

EVENTS = "text/event-stream"
KEY = "0123-secret"
TAKE = partial(provider_stream.take_chunk, with_usage=True)


def chunk(text: str, *, finish: str | None = None, index: int = 0) -> str:
    choice = {"index": index, "delta": {"content": text}, "finish_reason": finish}
    return "data: " + json.dumps({"choices": [choice]}, ensure_ascii=False)


@asynccontextmanager
async def provider(*pieces: bytes, kind: str = EVENTS, status: int = 200, more: str = "", stays: bool = False) -> Any:
    """The address of one that says `pieces`, a moment between two, and then closes the connection unless it `stays`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\r\n".encode())
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if stays:
            await asyncio.sleep(30)
        writer.close()

    server, port = await listen(serve)
    async with server:
        yield f"http://127.0.0.1:{port}/v1"
        server.close_clients()


@asynccontextmanager
async def asked(url: str, **body: Any) -> AsyncIterator[upstream.Upstream]:
    profile = ModelProfile(name="m", model_id="m", provider="openai", base_url=url, api_key=KEY)
    async with upstream.ask_upstream(profile, {"messages": [], "stream": True} | body, asking=lambda: None) as of:
        yield of


async def heard(*pieces: str | bytes, choices: int = 1, **how: Any) -> tuple[list[str], provider_stream.Tally]:
    said = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    tally = provider_stream.Tally(choices)
    async with provider(*said, **how) as url, asked(url) as of:
        assert of.is_stream
        return [event async for event in provider_stream.events(of, tally, TAKE)], tally


async def test_what_only_python_takes_for_a_line_s_end_stays_within_its_event() -> None:
    text = "a\u2028b\u2029c\x85d\x1ce\x0cf"
    events, _ = await heard(chunk(text, finish="stop") + "\n\ndata: [DONE]\n\n")
    assert json.loads(events[0].removeprefix("data: "))["choices"][0]["delta"]["content"] == text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_lines_end_as_the_standard_says(end: str) -> None:
    whole = (": wait\n\n" + chunk("é", finish="stop") + "\n\ndata: [DONE]\n\n").replace("\n", end).encode()
    events, tally = await heard(*(whole[number : number + 1] for number in range(len(whole))))
    assert events == [": wait\n\n", chunk("é", finish="stop") + "\n\n", "data: [DONE]\n\n"]
    assert tally.is_done


async def test_an_event_of_several_lines_and_fields_passes() -> None:
    said = 'event: x\nid: 7\ndata: {"choices":\ndata: [{"finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    events, _ = await heard(said)
    assert "".join(events) == said


async def test_a_stream_in_gzip_passes() -> None:
    content = gzip.compress((chunk("a", finish="stop") + "\n\ndata: [DONE]\n\n").encode())
    events, _ = await heard(content, more="Content-Encoding: gzip\r\n")
    assert len(events) == 2


async def test_a_stream_is_one_whatever_it_is_called_unless_it_is_json() -> None:
    events, _ = await heard(chunk("a", finish="stop") + "\n\ndata: [DONE]\n\n", kind="text/plain")
    assert len(events) == 2
    async with provider(b'{"choices": [{"message": {}}]}', kind="application/json") as url, asked(url) as of:
        assert not of.is_stream


async def test_a_connection_that_stays_open_after_the_last_word_holds_nobody_up() -> None:
    async with asyncio.timeout(5):
        events, tally = await heard(chunk("a", finish="stop") + "\n\ndata: [DONE]\n\n", stays=True)
    assert (len(events), tally.is_whole) == (2, True)


async def test_of_several_answers_each_must_come_to_its_end() -> None:
    first = chunk("a", finish="stop") + "\n\n"
    with pytest.raises(BrokenReply, match="broke the reply off"):
        await heard(first, choices=2)
    await heard(first, chunk("b", finish="stop", index=1) + "\n\n", choices=2)


@pytest.mark.parametrize("data", ["[]", "7", '"usage"', '[{"usage": {}}]', "{", '{"usage": {"prompt_tokens": "x"}}'])
async def test_an_odd_event_passes(data: str) -> None:
    events, tally = await heard(f"data: {data}\n\n", "data: [DONE]\n\n")
    assert events[0] == f"data: {data}\n\n"
    assert tally.spent is None


async def test_an_error_in_a_stream_is_told_in_other_words() -> None:
    error = {"error": {"message": f"Incorrect key: {KEY}", "code": "invalid_api_key"}}
    with pytest.raises(ModelError) as told:
        await heard(chunk("a") + "\n\n", f"data: {json.dumps(error)}\n\n")
    assert KEY not in str(told.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": f"Incorrect key: {KEY}", "code": 401}, ModelError),
        ("out of order", ModelError),
        ({"message": "too long", "code": "context_length_exceeded"}, ContextTooLong),
    ],
)
async def test_an_error_that_comes_with_200_is_one(error: Any, kind: type[ModelError]) -> None:
    body = json.dumps({"error": error}).encode()
    async with provider(body, kind="application/json") as url, asked(url, stream=False) as of:
        with pytest.raises(kind) as told:
            await provider_stream.whole(of)
    assert KEY not in str(told.value)


async def test_a_reason_that_quotes_our_key_is_told_without_it() -> None:
    body = json.dumps({"error": {"message": f"The key {KEY} may not ask for tools."}}).encode()
    async with provider(body, kind="application/json", status=400) as url:
        with pytest.raises(Refused, match="may not ask for tools") as told:
            async with asked(url):
                pass
    assert KEY not in told.value.message + json.dumps(told.value.detail)
