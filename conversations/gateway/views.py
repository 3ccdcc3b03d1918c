"""The gateway's endpoints: parse the call, make room, forward it, answer. Each view is a coroutine and waits on no
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from conversations import limits, spending
from conversations.errors import Invalid, NotFound, Refused
from conversations.gateway import pass_through
from conversations.gateway.anthropic.models import described, listed
from conversations.gateway.anthropic.protocol import COUNTED, MESSAGES
from conversations.gateway.call_admission import begun, let_thread_go, parsed, signed_in, spoken_in, stored_for
from conversations.gateway.call_log import GONE, Call, record_later
from conversations.gateway.chat_completions.protocol import CHAT
from conversations.gateway.checkpoints import State
from conversations.gateway.cors import preflight, with_origin
from conversations.gateway.fallback import other_request, with_retries
from conversations.gateway.fit_history import with_room
from conversations.gateway.forwarding import EVENT_STREAM, forwarded
from conversations.gateway.openai_responses import held as held_responses
from conversations.gateway.openai_responses import models as codex_models
from conversations.gateway.openai_responses.compacted import as_stream, compacted, in_one, is_trigger
from conversations.gateway.openai_responses.protocol import RESPONSES
from conversations.gateway.passages import with_passages
from conversations.gateway.protocol import CallerRequest, Protocol
from conversations.gateway.request import GatewayRequest, model_of, models
from conversations.gateway.responses import as_refusal, refused
from conversations.gateway.slow_answers import kept_alive
from conversations.llm.errors import ContextTooLong, ModelError
from conversations.llm.retries import SLOT_PAUSES, SMALL_SHARE
from conversations.llm.windows import windows
from conversations.models import ModelProfile

View = Callable[..., Any]


class WrongMethod(Refused):
    code = "method_not_allowed"
    status = 405


def endpoint(*methods: str, protocol: Protocol | None = None) -> Callable[[View], View]:
    """A view whose faults become errors of the protocol, and whose call is recorded after any end.

    None: of the protocol that the request's headers name.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        async def answer(request: HttpRequest, **named: str) -> HttpResponseBase:
            call = Call()
            if (permission := preflight(request)) is not None:
                return permission
            try:
                if request.method not in methods:
                    raise WrongMethod(f"Only {' and '.join(methods)} can be asked of this address.")
                return with_origin(request, await view(request, call, **named))
            except asyncio.CancelledError:
                call.status, call.error = GONE, "client_gone"
                record_later(call)
                raise
            except Exception as fault:
                response = refused(as_refusal(fault), call, protocol or spoken_in(request))
                record_later(call)
                return with_origin(request, response)

        return answer

    return decorate


@endpoint("POST", protocol=CHAT)
async def chat_completions(request: HttpRequest, call: Call) -> HttpResponseBase:
    """OpenAI's chat completions, however long the history grows."""
    return await _answered(request, call, CHAT)


@endpoint("POST", protocol=MESSAGES)
async def messages(request: HttpRequest, call: Call) -> HttpResponseBase:
    """Anthropic's Messages, however long the history grows."""
    return await _answered(request, call, MESSAGES)


@endpoint("POST", protocol=RESPONSES)
async def responses(request: HttpRequest, call: Call) -> HttpResponseBase:
    """OpenAI's Responses, however long the history grows."""
    return await _answered(request, call, RESPONSES)


@endpoint("GET", "DELETE", protocol=RESPONSES)
async def held_response(request: HttpRequest, call: Call, id: str) -> HttpResponseBase:
    """A response that the site still holds: read it, or delete it with the items of its request."""
    await sync_to_async(signed_in)(request, call)
    if request.method == "DELETE":
        await sync_to_async(held_responses.delete)(call.owner_id, id)
        return JsonResponse({"id": id, "object": "response", "deleted": True})
    if request.GET.get("stream") == "true":
        raise Invalid("stream: a response that is held is read in one piece.", field="stream")
    return JsonResponse(await sync_to_async(held_responses.read)(call.owner_id, id))


@endpoint("POST", protocol=RESPONSES)
async def compact(request: HttpRequest, call: Call) -> HttpResponseBase:
    """The items of a request of OpenAI's Responses with a summary in place of the older ones, to go on from."""
    asked, state = await sync_to_async(begun)(request, call, RESPONSES)
    await let_thread_go(request)
    state = await _as_asked(asked, state, call)
    answer = compacted(CallerRequest(asked.given, call.before), asked.history, state)
    return JsonResponse(answer, headers=call.headers)


async def _in_one(asked: GatewayRequest, state: State | None, call: Call) -> HttpResponseBase:
    """Answer with one compaction item that replaces the whole input."""
    state = await _as_asked(asked, state, call)
    answer = in_one(CallerRequest(asked.given, call.before), asked.history, state)
    if asked.is_stream:
        return HttpResponse(as_stream(answer), content_type=EVENT_STREAM, headers=call.headers)
    return JsonResponse(answer, headers=call.headers)


async def _as_asked(asked: GatewayRequest, state: State | None, call: Call) -> State | None:
    """The summary after a compaction that the caller asked for; the call is recorded."""
    with limits.one_more_call(call.owner_id):
        state = await with_room(asked, state, call, overflowed=True)
    call.uses(state, tokens=asked.usage(state).total, estimated=0)
    call.answered()
    record_later(call)
    return state


@endpoint("POST", protocol=MESSAGES)
async def count_tokens(request: HttpRequest, call: Call) -> HttpResponseBase:
    """The tokens of a request of Anthropic's Messages as sent; no model is asked."""

    def counted() -> int:
        return parsed(request, call, COUNTED).usage(None).total

    return JsonResponse({"input_tokens": await sync_to_async(counted)()})


@endpoint("POST", protocol=RESPONSES)
async def input_tokens(request: HttpRequest, call: Call) -> HttpResponseBase:
    """The tokens of a request of OpenAI's Responses as sent; no model is asked."""

    def counted() -> int:
        return parsed(request, call, RESPONSES).usage(None).total

    found = await sync_to_async(counted)()
    return JsonResponse({"object": "response.input_tokens", "input_tokens": found})


async def _answered(request: HttpRequest, call: Call, protocol: Protocol) -> HttpResponseBase:
    asked, state = await sync_to_async(begun)(request, call, protocol)
    await let_thread_go(request)
    work = _worked_out(request, asked, state, call)
    return await (kept_alive(work, call, protocol) if asked.is_stream else work)


async def _worked_out(request: HttpRequest, asked: GatewayRequest, state: State | None, call: Call) -> HttpResponseBase:
    """The answer to a call, once there is room for it."""
    protocol = asked.protocol
    if protocol is RESPONSES and is_trigger(asked.given):
        return await _in_one(asked, state, call)
    async with AsyncExitStack() as held:
        held.enter_context(limits.one_more_call(call.owner_id))
        try:
            return await with_retries(lambda: _fitted(request, asked, state, call, held))
        except ModelError as fault:
            if (other := await other_request(asked, fault, call)) is None:
                raise
            found = await sync_to_async(stored_for)(other, call)
            return await _fitted(request, other, found, call, held)


async def _fitted(
    request: HttpRequest, asked: GatewayRequest, state: State | None, call: Call, held: AsyncExitStack
) -> HttpResponseBase:
    """The answer of the call's model to a request that fits its window."""
    state = await with_room(asked, state, call)
    try:
        return await _forwarded(request, asked, state, call, held)
    except ContextTooLong as refusal:
        if refusal.is_servers_fault and (answer := await _once_there_is_room(request, asked, state, call, held)):
            return answer
        # The provider counts otherwise than we do, or its window is smaller: once more, with less.
        if refusal.limit:
            await windows.learn_limit(asked.profile, refusal.limit)
        state = await with_room(asked, state, call, overflowed=True)
        return await _forwarded(request, asked, state, call, held)


async def _forwarded(
    request: HttpRequest, asked: GatewayRequest, state: State | None, call: Call, held: AsyncExitStack
) -> HttpResponseBase:
    """The answer to the request with the passages that are recalled for it."""
    if asked.policy.recall and settings.GATEWAY_RECALL and (asked.project or (state and state.is_summary)):
        state = await sync_to_async(with_passages)(asked, state, call.owner_id)
    return await forwarded(request, asked, state, call, held, asked.protocol)


async def _once_there_is_room(
    request: HttpRequest, asked: GatewayRequest, state: State | None, call: Call, held: AsyncExitStack
) -> HttpResponseBase | None:
    """The answer of a server whose slots were full, asked again after each of SLOT_PAUSES; None if that is no reason:
    the request takes more than SMALL_SHARE of the window, or the slots stay full.
    """
    used = asked.usage(state)
    if used.total > SMALL_SHARE * used.window.size:
        return None
    for seconds in SLOT_PAUSES:
        await asyncio.sleep(seconds)
        with suppress(ContextTooLong):
            return await _forwarded(request, asked, state, call, held)
    return None


@endpoint("POST", protocol=CHAT)
async def passed_through(request: HttpRequest, call: Call, address: str) -> HttpResponseBase:
    """Embeddings, reranking, moderation and audio, by a provider that has them."""

    def parsed_call() -> pass_through.ForwardedCall:
        signed_in(request, call)
        spending.require_budget(call.owner_id, call.key)
        return pass_through.read(request, address, call.owner_id)

    passed = await sync_to_async(parsed_call)()
    await let_thread_go(request)
    async with AsyncExitStack() as held:
        held.enter_context(limits.one_more_call(call.owner_id))
        return await pass_through.answer(passed, call, held)


@endpoint("GET")
async def list_models(request: HttpRequest, call: Call) -> HttpResponseBase:
    await sync_to_async(signed_in)(request, call)
    found = await sync_to_async(models)(call.owner_id)
    if spoken_in(request) is MESSAGES:
        return JsonResponse(listed(found))
    if codex_models.CLIENT_VERSION in request.GET:
        return JsonResponse(codex_models.listed(found))
    return JsonResponse({"object": "list", "data": [_model(profile) for profile in found]})


@endpoint("GET")
async def one_model(request: HttpRequest, call: Call, name: str) -> HttpResponseBase:
    await sync_to_async(signed_in)(request, call)
    found = await sync_to_async(model_of)(name, call.owner_id)
    return JsonResponse(described(found) if spoken_in(request) is MESSAGES else _model(found))


@csrf_exempt
async def nowhere(request: HttpRequest) -> HttpResponseBase:
    if (permission := preflight(request)) is not None:
        return permission
    return refused(NotFound("There is no such address below /v1/."), Call(), spoken_in(request))


def _model(profile: ModelProfile) -> dict[str, Any]:
    """A model as OpenAI's API lists it, with the window beside it, as other servers do."""
    return {
        "id": profile.name,
        "object": "model",
        "created": 0,
        "owned_by": profile.provider,
        "context_window": profile.usable_window.size,
    }
