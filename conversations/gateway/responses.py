"""Makes the responses to a caller: errors in the API's shape with the fields of OpenAI's, and streams as they come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any
from typing import Protocol as Interface

from django.conf import settings
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from conversations.errors import Refused, headers_of
from conversations.gateway.call_log import GONE, Call
from conversations.gateway.chat_completions.protocol import CHAT
from conversations.gateway.protocol import Events, Protocol
from conversations.gateway.provider_stream import Tally
from conversations.gateway.upstream import failed
from conversations.llm.errors import ModelError
from conversations.runtime.database import refusal_of

logger = logging.getLogger(__name__)


class Unauthenticated(Refused):
    code = "invalid_api_key"
    status = 401

    def __init__(self) -> None:
        super().__init__("Send `Authorization: Bearer <key>`, or `x-api-key`, with a valid key of this site.")


class Broken(Refused):
    code = "internal"
    status = 500

    def __init__(self) -> None:
        super().__init__("Something went wrong on this site; its log says what.")


def refused(refusal: Refused, call: Call, protocol: Protocol = CHAT) -> HttpResponse:
    call.status, call.error = refusal.status, refusal.code
    headers = call.headers | headers_of(refusal)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    status = protocol.statuses.get(refusal.code, refusal.status)
    return JsonResponse(protocol.error(refusal), status=status, headers=headers)


def as_refusal(fault: Exception) -> Refused:
    """The refusal that describes any fault to the caller."""
    if isinstance(fault, Refused):
        return fault
    if isinstance(fault, ModelError):
        return failed(fault)
    if refusal := refusal_of(fault):
        return refusal
    logger.error("a call of the gateway failed", exc_info=fault)
    return Broken()


class Stream:
    """The body of a streamed answer.

    However it ends, the provider's connection is closed and the call is recorded: Django closes a response even if
    nothing of it was read.
    """

    def __init__(
        self,
        events: AsyncGenerator[str],
        tally: Tally,
        call: Call,
        close: Callable[[], Coroutine[Any, Any, None]],
        protocol: Protocol = CHAT,
    ) -> None:
        self._events, self._tally, self._call, self._close = events, tally, call, close
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        status, error = GONE, "client_gone"
        try:
            async with aclosing(with_pings(self._events, self._protocol.ping)) as events:
                async for event in events:
                    if not event.startswith((":", self._protocol.ping)):  # else it only says that somebody is there
                        self._call.answered()
                    yield event.encode(errors="replace")
            status, error = 200, ""
        except Exception as fault:
            refusal = as_refusal(fault)
            status, error = refusal.status, refusal.code
            yield self._protocol.broken(self._protocol.error(refusal)).encode(errors="replace")
        finally:
            if self._tally.is_done:
                status, error = 200, ""  # who goes away then has all of it
            self._call.status, self._call.error, self._call.spent = status, error, self._tally.spent
            self._call.is_cut = self._tally.is_cut
            self._is_over = True
            await self._close()

    def close(self) -> None:
        """End the stream, from any thread: its reader may have left before the first word."""
        if not self._is_over:
            self._call.status, self._call.error = GONE, "client_gone"
            self._is_over = True
            asyncio.run_coroutine_threadsafe(self._close(), self._loop)


class Body(Interface):
    """The body of a streamed response; `close` ends it, from any thread."""

    def __aiter__(self) -> AsyncGenerator[bytes]: ...

    def close(self) -> None: ...


class _Streaming(StreamingHttpResponse):
    body: Body


def body_of(response: HttpResponseBase) -> Body | None:
    """The body of a response that `stream` made; None for any other."""
    return response.body if isinstance(response, _Streaming) else None


def stream(body: Body, call: Call) -> StreamingHttpResponse:
    response = _Streaming(body, content_type="text/event-stream", headers=call.headers)
    response.body = body
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


async def with_pings(events: Events, ping: str) -> AsyncGenerator[str]:
    """The events, with a ping in each silence of GATEWAY_PING_SECONDS.

    Proxies cut a stream that is silent for a minute, and clients give it up.
    """
    pending: asyncio.Future[str] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(events))
            await asyncio.wait({pending}, timeout=settings.GATEWAY_PING_SECONDS)
            if not pending.done():
                yield ping
                continue
            known, pending = pending, None
            try:
                event = known.result()
            except StopAsyncIteration:
                return
            yield event
    finally:
        if pending is not None:
            pending.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await pending
        await events.aclose()
