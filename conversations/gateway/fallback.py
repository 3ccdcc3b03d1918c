"""Repeats a request whose provider failed before it answered: with the same model after a pause, then with another
model.

Programs try again themselves too, so one more request by default is enough to get over a restart or a full minute.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http.response import HttpResponseBase

from conversations.errors import NotFound
from conversations.gateway.call_log import Call
from conversations.gateway.request import GatewayRequest, model_of, named_by, parse_request
from conversations.llm.errors import (
    BrokenReply,
    KeyRefused,
    ModelError,
    ModelNotFound,
    NoCredit,
    NotConfigured,
    RateLimited,
    Unavailable,
)
from conversations.llm.retries import pause_before_next

ANOTHER_MAY = (BrokenReply, KeyRefused, ModelNotFound, NoCredit, NotConfigured, RateLimited, Unavailable)
"""Faults of a provider, not of the request: another one may answer."""
MAX_PAUSE_SECONDS = 5.0
"""A provider that asks for a longer pause is not asked again: the caller gets the refusal, and decides."""
QUICK_SECONDS = 10.0
"""A fault that took longer is not tried again: it was most likely a time-out."""

type Answering = Callable[[], Awaitable[HttpResponseBase]]


async def with_retries(answering: Answering) -> HttpResponseBase:
    """The answer, after at most GATEWAY_RETRIES further requests. Raises the last ModelError."""
    failed = 0
    while True:
        began = asyncio.get_running_loop().time()
        try:
            return await answering()
        except (RateLimited, Unavailable) as fault:
            failed += 1
            pause = pause_before_next(fault, failed=failed)
            took = asyncio.get_running_loop().time() - began
            if failed > settings.GATEWAY_RETRIES or pause is None or pause > MAX_PAUSE_SECONDS or took > QUICK_SECONDS:
                raise
            await asyncio.sleep(pause)


async def other_request(asked: GatewayRequest, fault: ModelError, call: Call) -> GatewayRequest | None:
    """The call for the model that GATEWAY_FALLBACK names for its own; None if there is none, or it could not help."""
    if not isinstance(fault, ANOTHER_MAY):
        return None
    return await sync_to_async(_to_other)(asked, call)


def _to_other(asked: GatewayRequest, call: Call) -> GatewayRequest | None:
    for name in named_by(settings.GATEWAY_FALLBACK, asked.profile.name):
        try:
            profile = model_of(name, call.owner_id)
        except NotFound:
            continue
        if profile.pk == asked.profile.pk:
            continue
        other = parse_request(
            json.dumps(asked.own | {"model": profile.name}),
            asked.protocol,
            owner_id=call.owner_id,
            project=asked.project,
        )
        call.profile = call.fallback = profile
        call.before = call.after = other.usage(None).total
        return other
    return None
