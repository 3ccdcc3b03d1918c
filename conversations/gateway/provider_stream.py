"""Reads a provider's answer: one JSON object, or events that are passed on as they come."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from importlib import import_module
from typing import Any

from conversations.gateway.chunks import DONE
from conversations.gateway.gathered_streams import completion_of, events_in
from conversations.gateway.upstream import Upstream
from conversations.llm.clients import is_complete
from conversations.llm.errors import BrokenReply
from conversations.llm.port import ReportedTokens
from conversations.llm.providers.errors_in_answers import ErrorInAnswer, require_success
from conversations.llm.providers.fault_mapping import Endpoint, explain
from conversations.llm.providers.provider import whole_seconds
from conversations.llm.providers.reported_usage import spent_on

MAX_ANSWER_BYTES = 50_000_000
"""The most bytes of an answer in one piece."""
_USAGE = re.compile(r'"usage":\s*\{')
_FINISHED = re.compile(r'"finish_reason":\s*"')
_CUT = re.compile(r'"finish_reason":\s*"length"')
_ERROR = re.compile(r'\{\s*"error":|.*"base_resp":\s*\{\s*"status_code":\s*[1-9]')
_ENDS = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)
"""The ends of lines. A CR at the very end is left open: an LF may follow."""
END_SECONDS = 1.0
"""Seconds that a connection may take to end after the last word."""


class Tally:
    """The figures of a stream with `choices` answers while it passes: its usage, and the progress of each answer."""

    def __init__(self, choices: int = 1) -> None:
        self.spent: ReportedTokens | None = None
        self.usage: dict[str, Any] = {}
        self.is_done = self.is_cut = False
        self._unfinished = choices

    @property
    def is_whole(self) -> bool:
        """Whether every requested answer has ended. Some servers do not send the last event."""
        return self.is_done or self._unfinished <= 0

    def take(self, data: str) -> None:
        self.is_done = self.is_done or data == DONE
        self.is_cut = self.is_cut or _CUT.search(data) is not None
        self._unfinished -= len(_FINISHED.findall(data))


Gather = Callable[[list[dict[str, Any]]], dict[str, Any] | None]
"""Makes one answer of the events of a stream; None if the stream is not complete."""


async def whole(
    of: Upstream, spent_on: Callable[[Any], ReportedTokens | None] = spent_on, gather: Gather = completion_of
) -> tuple[bytes, ReportedTokens | None]:
    """(the answer as one JSON object, unchanged unless the server has streamed it; its usage). Raises ModelError."""
    with of.faults_explained():
        async with asyncio.timeout(whole_seconds(of.who.timeout)):
            content = await _read(of)
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if answer is None and (streamed := await asyncio.to_thread(events_in, content)):
            for event in streamed:
                require_no_error(event, of.who)
            if (answer := await asyncio.to_thread(gather, streamed)) is None:
                raise BrokenReply(f"{of.who.name}: the provider broke the reply off. Try again.")
            content = json.dumps(answer, ensure_ascii=False).encode()
        if not isinstance(answer, dict):
            raise BrokenReply(f"{of.who.name}: what the provider sent is not a reply. Try again.")
        require_no_error(answer, of.who)
    return content, spent_on(answer)


async def _read(of: Upstream) -> bytes:
    pieces, size = [], 0
    async for piece in of.response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise BrokenReply(f"{of.who.name} does not end its reply.", retryable=False)
    return b"".join(pieces)


Take = Callable[[list[str], Tally, Endpoint], bool]
"""Notes what the lines of an event say of the end and the usage; returns whether the event is passed on."""


async def events(of: Upstream, tally: Tally, take: Take) -> AsyncGenerator[str]:
    """The events of a stream, each unchanged, that `take` passes on.

    Raises ModelError if the stream breaks off or ends without its last event.
    """
    event: list[str] = []
    async with aclosing(_lines(of)) as lines:
        with of.faults_explained():
            silence = 0.0
            while not tally.is_done:
                began = time.monotonic()
                async with asyncio.timeout(of.who.timeout - silence):
                    line = await anext(lines, None)
                # A comment keeps a connection alive, and does not stay the time-out.
                silence = 0.0 if line and line.startswith("data:") else silence + time.monotonic() - began
                if line and not _begins_another(line, event):
                    event.append(line)
                    continue
                if event and take(event, tally, of.who):
                    yield "\n".join(event) + "\n\n"
                event = [line] if line else []
                if line is None:
                    break
            if not tally.is_whole:
                raise BrokenReply(f"{of.who.name}: the provider broke the reply off. Try again.")
        await _drained(lines)


def _begins_another(line: str, event: list[str]) -> bool:
    """Whether a line begins the next event: some servers send no blank line between events."""
    return line.startswith(("data:", "event:")) and is_complete(data_of(event))


async def _lines(of: Upstream) -> AsyncGenerator[str]:
    """Lines that end with CR, LF or both: `str.splitlines` also splits at characters that JSON leaves unescaped."""
    pieces: list[bytes] = []
    size = 0
    async for piece in of.response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise BrokenReply(f"{of.who.name} does not end its reply.", retryable=False)
        if b"\n" in piece or b"\r" in piece:
            *lines, rest = _ENDS.split(b"".join(pieces))
            pieces, size = [rest], len(rest)
            for line in lines:
                yield line.decode(errors="replace")
    if rest := b"".join(pieces):
        yield rest.decode(errors="replace").rstrip("\r")


async def _drained(lines: AsyncGenerator[str]) -> None:
    """Read the end of the stream, for at most END_SECONDS, so that the connection can be used again."""
    with suppress(Exception):
        async with asyncio.timeout(END_SECONDS):
            await anext(lines, None)


def data_of(event: list[str]) -> str:
    """The data of an event's lines."""
    return "\n".join(line[5:].lstrip() for line in event if line.startswith("data:"))


def take_chunk(event: list[str], tally: Tally, who: Endpoint, *, with_usage: bool) -> bool:
    """Leave out the chunk with a chat completion's usage if the caller did not ask for it."""
    data = data_of(event)
    tally.take(data)
    if not (_USAGE.search(data) or _ERROR.match(data)):
        return True
    try:
        parsed = json.loads(data)
    except ValueError:
        return True
    if not isinstance(parsed, dict):
        return True
    require_no_error(parsed, who)
    tally.spent = spent_on(parsed) or tally.spent
    return with_usage or bool(parsed.get("choices"))


def require_no_error(answer: Any, who: Endpoint) -> None:
    """Raise ModelError for an error that came with status 200, in our own words: the provider's may quote our key."""
    try:
        require_success(answer)
    except ErrorInAnswer as error:
        raise explain(error, who, begun=False) from None
    if answer.get("error") and not answer.get("choices"):
        sdk, http = import_module("openai"), import_module("httpx2")
        raise explain(sdk.APIError("", http.Request("POST", who.base_url), body=answer), who, begun=False)
