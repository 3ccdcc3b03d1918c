"""Begins a streamed answer before it is there, when it takes long: a history is compacted, or a provider is silent.

A call is answered with its own status if that is known within half of GATEWAY_PING_SECONDS. Otherwise its stream
begins, with pings until the answer comes. A fault that comes later is the stream's last event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from conversations.gateway.call_log import GONE, Call, record_later
from conversations.gateway.protocol import Protocol
from conversations.gateway.responses import as_refusal, body_of, stream

type Answer = asyncio.Future[HttpResponseBase]


async def kept_alive(work: Coroutine[Any, Any, HttpResponseBase], call: Call, protocol: Protocol) -> HttpResponseBase:
    """The response that `work` makes, or a stream that waits for it. Raises what `work` raises in time."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=settings.GATEWAY_PING_SECONDS / 2)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    return task.result() if task.done() else stream(_Waiting(task, call, protocol), call)


def _abandon(task: Answer) -> bool:
    """End the work, or the response that it made; returns whether it was still running."""
    if not task.done():
        return task.cancel()
    if not task.cancelled() and task.exception() is None:
        task.result().close()
    return False


class _Waiting:
    """The body of a stream before its answer: pings, then the answer or the error."""

    def __init__(self, task: Answer, call: Call, protocol: Protocol) -> None:
        self._task, self._call, self._protocol = task, call, protocol
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        try:
            while not self._task.done():
                yield self._protocol.ping.encode()
                await asyncio.wait({self._task}, timeout=settings.GATEWAY_PING_SECONDS)
            async with aclosing(self._answer()) as parts:
                async for part in parts:
                    yield part
        finally:
            self._end()

    def close(self) -> None:
        """End the stream, from any thread: its reader may have left before the first word."""
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        """Stop the work that the reader no longer waits for; its call is recorded as left by its caller."""
        if not self._is_over and _abandon(self._task):
            self._call.status, self._call.error = GONE, "client_gone"
            record_later(self._call)
        self._is_over = True

    async def _answer(self) -> AsyncGenerator[bytes]:
        try:
            response = self._task.result()
        except Exception as fault:
            refusal = as_refusal(fault)
            self._call.status, self._call.error = refusal.status, refusal.code
            record_later(self._call)
            yield self._protocol.broken(self._protocol.error(refusal)).encode(errors="replace")
            return
        if (body := body_of(response)) is not None:
            async with aclosing(aiter(body)) as parts:
                async for part in parts:
                    yield part
        elif isinstance(response, HttpResponse):
            yield response.content
