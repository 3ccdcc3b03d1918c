"""Pings in the silences of a stream: proxies cut a stream that is silent for a minute, and clients give it up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from django.conf import settings

from conversations.gateway.protocol import Events


async def with_pings(events: Events, ping: str) -> AsyncGenerator[str]:
    """The events, with a ping in each silence of GATEWAY_PING_SECONDS."""
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
