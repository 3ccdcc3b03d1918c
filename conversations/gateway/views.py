"""The gateway's endpoints: parse the call, make room, forward it, answer. Each view is a coroutine and waits on no
thread.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial, wraps
from time import perf_counter
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from conversations import api_keys, limits
from conversations.admission import admission_of
from conversations.compaction.snapshots import Superseded
from conversations.errors import MEDIA_TYPE, Invalid, NotFound, Refused, UnsupportedMediaType
from conversations.gateway import checkpoints, provider_stream, upstream
from conversations.gateway.anthropic import upstream as native
from conversations.gateway.anthropic.models import VERSION, described, listed
from conversations.gateway.anthropic.protocol import COUNTED, MESSAGES
from conversations.gateway.call_log import GONE, MADE, Call, record
from conversations.gateway.checkpoints import State
from conversations.gateway.compaction import alone, compact_history
from conversations.gateway.openai_responses.compacted import as_stream, compacted, in_one, is_trigger
from conversations.gateway.openai_responses.protocol import RESPONSES
from conversations.gateway.passages import with_passages
from conversations.gateway.protocol import CHAT, Asked, Events, Protocol, streamed
from conversations.gateway.request import GatewayRequest, model_of, models, parse_request
from conversations.gateway.responses import Stream, Unauthenticated, as_refusal, refused, stream
from conversations.llm.errors import ContextTooLong
from conversations.models import ModelProfile
from conversations.runtime import queue

JSON, EVENT_STREAM = "application/json", "text/event-stream"
TRIES = 3
"""How often other calls may compact the same history differently before this one is sent as it is."""

View = Callable[..., Any]


class WrongMethod(Refused):
    code = "method_not_allowed"
    status = 405


def endpoint(method: str, protocol: Protocol | None = None) -> Callable[[View], View]:
    """A view whose faults become errors of the protocol, and whose call is recorded however it ends.

    None: of the protocol that the request's headers name.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        async def answer(request: HttpRequest, **named: str) -> HttpResponseBase:
            call = Call()
            try:
                if request.method != method:
                    raise WrongMethod(f"Only {method} can be asked of this address.")
                return await view(request, call, **named)
            except asyncio.CancelledError:
                call.status, call.error = GONE, "client_gone"
                _record_later(call)
                raise
            except Exception as fault:
                response = refused(as_refusal(fault), call, protocol or _spoken(request))
                _record_later(call)
                return response

        return answer

    return decorate


@endpoint("POST", CHAT)
async def chat_completions(request: HttpRequest, call: Call) -> HttpResponseBase:
    """OpenAI's chat completions, however long the history grows."""
    return await _answered(request, call, CHAT)


@endpoint("POST", MESSAGES)
async def messages(request: HttpRequest, call: Call) -> HttpResponseBase:
    """Anthropic's Messages, however long the history grows."""
    return await _answered(request, call, MESSAGES)


@endpoint("POST", RESPONSES)
async def responses(request: HttpRequest, call: Call) -> HttpResponseBase:
    """OpenAI's Responses, however long the history grows."""
    return await _answered(request, call, RESPONSES)


@endpoint("POST", RESPONSES)
async def compact(request: HttpRequest, call: Call) -> HttpResponseBase:
    """The items of a request of OpenAI's Responses with a summary in place of the older ones, to go on from."""
    asked, state = await sync_to_async(_begun)(request, call, RESPONSES)
    await _let_thread_go(request)
    state = await _as_asked(asked, state, call)
    answer = compacted(Asked(asked.given, call.before), asked.history, state)
    return JsonResponse(answer, headers=call.headers)


async def _in_one(asked: GatewayRequest, state: State | None, call: Call) -> HttpResponseBase:
    """The item that stands for all of a request's, as the answer to it."""
    state = await _as_asked(asked, state, call)
    answer = in_one(Asked(asked.given, call.before), asked.history, state)
    if asked.is_stream:
        return HttpResponse(as_stream(answer), content_type=EVENT_STREAM, headers=call.headers)
    return JsonResponse(answer, headers=call.headers)


async def _as_asked(asked: GatewayRequest, state: State | None, call: Call) -> State | None:
    """The summary after a compaction that the caller asked for; the call is recorded."""
    with limits.one_more_call(call.owner_id):
        state = await _with_room(asked, state, call, overflowed=True)
    call.uses(state, tokens=asked.usage(state).total, estimated=0)
    call.answered()
    _record_later(call)
    return state


@endpoint("POST", MESSAGES)
async def count_tokens(request: HttpRequest, call: Call) -> HttpResponseBase:
    """The tokens of a request of Anthropic's Messages as it was sent; nothing is asked of a model."""

    def counted() -> int:
        return _parsed(request, call, COUNTED).usage(None).total

    return JsonResponse({"input_tokens": await sync_to_async(counted)()})


async def _answered(request: HttpRequest, call: Call, protocol: Protocol) -> HttpResponseBase:
    asked, state = await sync_to_async(_begun)(request, call, protocol)
    await _let_thread_go(request)
    if protocol is RESPONSES and is_trigger(asked.given):
        return await _in_one(asked, state, call)
    async with AsyncExitStack() as held:
        held.enter_context(limits.one_more_call(call.owner_id))
        state = await _with_room(asked, state, call)
        try:
            if state is None and protocol is MESSAGES and native.speaks(asked.profile):
                return await _passed(request, asked, call, held)
            return await _forwarded(asked, state, call, held, protocol)
        except ContextTooLong:
            # The provider counts otherwise than we do: once more, with less.
            state = await _with_room(asked, state, call, overflowed=True)
            return await _forwarded(asked, state, call, held, protocol)


@endpoint("GET")
async def list_models(request: HttpRequest, call: Call) -> HttpResponseBase:
    await sync_to_async(_signed_in)(request, call)
    found = await sync_to_async(models)()
    if _spoken(request) is MESSAGES:
        return JsonResponse(listed(found))
    return JsonResponse({"object": "list", "data": [_model(profile) for profile in found]})


@endpoint("GET")
async def one_model(request: HttpRequest, call: Call, name: str) -> HttpResponseBase:
    await sync_to_async(_signed_in)(request, call)
    found = await sync_to_async(model_of)(name)
    return JsonResponse(described(found) if _spoken(request) is MESSAGES else _model(found))


@csrf_exempt
async def nowhere(request: HttpRequest) -> HttpResponseBase:
    return refused(NotFound("There is no such address below /v1/."), Call(), _spoken(request))


def _spoken(request: HttpRequest) -> Protocol:
    return MESSAGES if VERSION in request.headers else CHAT


def _begun(request: HttpRequest, call: Call, protocol: Protocol) -> tuple[GatewayRequest, State | None]:
    """(the call, the stored summary where the history is too long without one). Runs in a thread."""
    asked = _parsed(request, call, protocol)
    call.profile, call.is_stream = asked.profile, asked.is_stream
    call.before = call.after = asked.usage(None).total
    if not asked.is_due(None):
        return asked, None
    state = checkpoints.known(call.owner_id, asked.history)
    if state is None or asked.is_due(state):
        state = checkpoints.find_checkpoint(call.owner_id, asked.history)
    return asked, state


def _parsed(request: HttpRequest, call: Call, protocol: Protocol) -> GatewayRequest:
    """The call of whoever's key it is. Raises Refused."""
    _signed_in(request, call)
    if request.content_type != JSON:
        raise UnsupportedMediaType(MEDIA_TYPE)
    try:
        text = request.body.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"body: not UTF-8 text, from byte {error.start:,} on.", field="body") from None
    return parse_request(text, protocol)


def _signed_in(request: HttpRequest, call: Call) -> None:
    """The owner of the key in the request, where OpenAI's and Anthropic's clients send it. Raises Refused."""
    try:
        request.get_host()
    except DisallowedHost:
        raise Invalid("host: this site has another name.", field="host") from None
    kind, _, plain = request.headers.get("Authorization", "").partition(" ")
    plain = plain.strip() if kind.lower() == "bearer" else request.headers.get("X-Api-Key", "").strip()
    call.key = api_keys.let_in(plain, address=request.META.get("REMOTE_ADDR", ""))
    if call.key is None:
        raise Unauthenticated
    if admission := admission_of(request):
        admission.by_key(call.key)


async def _let_thread_go(request: HttpRequest) -> None:
    """Give up the request's thread: from here on the call mostly waits."""
    if let_go := request.scope.get("let_go"):  # type: ignore[attr-defined]
        await let_go()


async def _with_room(
    asked: GatewayRequest, state: State | None, call: Call, *, overflowed: bool = False
) -> State | None:
    """The summary to send; a new one is made if no stored one makes enough room, or if `overflowed`.

    A compaction that has begun is ended even if the caller leaves: its next call finds the summary.
    """
    if not overflowed and not asked.is_due(state):
        return state
    began = perf_counter()
    try:
        compacting = queue.keep(asyncio.create_task(_compacted(asked, state, call, overflowed)))
        return await asyncio.shield(compacting)
    finally:
        call.compacted_seconds += perf_counter() - began


async def _compacted(asked: GatewayRequest, state: State | None, call: Call, overflowed: bool) -> State | None:
    """The state after a compaction, or another call's state if that makes enough room."""
    history, owner_id = asked.history, call.owner_id
    for _ in range(TRIES):
        async with alone(owner_id, state.digest if state else history.origin):
            newer = await sync_to_async(checkpoints.find_checkpoint)(owner_id, history)
            if _digest(newer) == _digest(state):
                with suppress(Superseded):
                    found = await compact_history(owner_id, history, newer, asked.profile, overflowed=overflowed)
                    call.checkpoint = MADE if _digest(found) != _digest(newer) else call.checkpoint
                    return found
        state = newer
        if not (overflowed or asked.is_due(state)):
            break
    return state


def _digest(state: State | None) -> str:
    return state.digest if state else ""


async def _forwarded(
    asked: GatewayRequest, state: State | None, call: Call, held: AsyncExitStack, protocol: Protocol
) -> HttpResponseBase:
    """The provider's answer as it comes; `held` is released once it has come. Raises Refused or ModelError."""
    if state and state.is_summary and asked.policy.recall and settings.GATEWAY_RECALL:
        state = await sync_to_async(with_passages)(asked, state)
    body = asked.forwarded(state)
    call.uses(state, tokens=asked.usage(state).total, estimated=asked.estimated(state))
    provider = await held.enter_async_context(upstream.ask_upstream(asked.profile, body, asking=call.asking))
    of = Asked(asked.given, call.before if state else None)
    if not provider.is_stream:
        content, call.spent = await provider_stream.whole(provider)
        call.answered()
        _record_later(call)
        return await _whole(content, of, call, protocol, is_stream=asked.is_stream)
    tally, kept = provider_stream.Tally(asked.choices), held.pop_all()
    take = partial(provider_stream.take_chunk, with_usage=asked.wants_usage or protocol.events is not None)
    events = provider_stream.events(provider, tally, take)
    if protocol.events:
        events = protocol.events(events, of)
    return _streamed(events, tally, call, kept, protocol)


async def _passed(request: HttpRequest, asked: GatewayRequest, call: Call, held: AsyncExitStack) -> HttpResponseBase:
    """The answer of a provider that speaks the caller's protocol, to the request as it is; both pass unchanged."""
    call.uses(None, tokens=call.before, estimated=asked.estimated(None))
    opening = native.ask_messages(asked.profile, asked.given, request.headers, asking=call.asking)
    provider = await held.enter_async_context(opening)
    if not provider.is_stream:
        content, call.spent = await provider_stream.whole(provider, native.spent_by)
        call.answered()
        _record_later(call)
        return HttpResponse(content, content_type=JSON, headers=call.headers)
    tally, kept = provider_stream.Tally(), held.pop_all()
    return _streamed(provider_stream.events(provider, tally, native.take_event), tally, call, kept, MESSAGES)


def _streamed(
    events: Events, tally: provider_stream.Tally, call: Call, kept: AsyncExitStack, protocol: Protocol
) -> HttpResponseBase:
    async def close() -> None:
        await kept.aclose()
        _record_later(call)

    return stream(Stream(events, tally, call, close, protocol), call)


async def _whole(content: bytes, of: Asked, call: Call, protocol: Protocol, *, is_stream: bool) -> HttpResponse:
    """The answer of a provider that came at once."""
    if protocol.whole is None or protocol.events is None:
        return HttpResponse(content, content_type=JSON, headers=call.headers)
    completion = json.loads(content)
    if is_stream:
        said = "".join([event async for event in protocol.events(streamed(completion), of)])
        return HttpResponse(said, content_type=EVENT_STREAM, headers=call.headers)
    return JsonResponse(protocol.whole(completion, of), headers=call.headers)


def _record_later(call: Call) -> None:
    """Record the call in the background."""
    queue.keep(asyncio.ensure_future(sync_to_async(record)(call)))


def _model(profile: ModelProfile) -> dict[str, Any]:
    """A model as OpenAI's API lists it, with the window beside it, as other servers do."""
    return {
        "id": profile.name,
        "object": "model",
        "created": 0,
        "owned_by": profile.provider,
        "context_window": profile.usable_window.size,
    }
