"""Forwards a call to its provider and gives its answer, whole or as it comes, in the caller's protocol."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from conversations.gateway import held_thoughts, history_tools, provider_stream, upstream
from conversations.gateway.anthropic import upstream as native
from conversations.gateway.anthropic.compacted import with_summary
from conversations.gateway.anthropic.protocol import MESSAGES
from conversations.gateway.call_log import Call, record_later
from conversations.gateway.character_repair import whole_answer, with_whole_characters
from conversations.gateway.chat_completions.protocol import CHAT, COMPACTED_CHAT
from conversations.gateway.chat_completions.reply import meant_answer, with_meant_calls
from conversations.gateway.chat_completions.request import custom_tools
from conversations.gateway.checkpoints import State
from conversations.gateway.chunks import event
from conversations.gateway.options import LIMITS
from conversations.gateway.protocol import CallerRequest, Events, Json, Protocol, streamed
from conversations.gateway.request import GatewayRequest
from conversations.gateway.responses import Stream, stream
from conversations.gateway.sealed_thoughts import identity_of
from conversations.gateway.server_form import with_room_for_thoughts
from conversations.llm.providers.message_events import events_of, message_of
from conversations.llm.providers.reported_usage import spent_on_message

JSON, EVENT_STREAM = "application/json", "text/event-stream"


async def forwarded(
    request: HttpRequest,
    asked: GatewayRequest,
    state: State | None,
    call: Call,
    held: AsyncExitStack,
    protocol: Protocol,
) -> HttpResponseBase:
    """The provider's answer as it arrives; `held` is released afterwards. Raises Refused or ModelError.

    A request without additions goes unchanged to a provider that speaks the caller's protocol.
    """
    if state is None and protocol is MESSAGES and native.speaks(asked.profile):
        return await _by_messages(request, asked, None, asked.given, call, held)
    body = asked.forwarded(state)
    if state and protocol is MESSAGES and native.speaks(asked.profile):
        limit = next(body[name] for name in LIMITS if name in body)
        own = with_room_for_thoughts(with_summary(asked.given, asked.history, state) | {"max_tokens": limit})
        return await _by_messages(request, asked, state, own, call, held)
    call.uses(state, tokens=asked.usage(state).total, estimated=asked.estimated(state))
    if state and history_tools.are_offered(asked, state, call):
        return await _searched(asked, body, state, call, protocol)
    provider = await held.enter_async_context(upstream.ask_upstream(asked.profile, body, asking=call.asking))
    call.left_out = tuple(sorted({*call.left_out, *provider.left_out}))
    of = replace(_caller_request(asked, call), tokens=call.before if state else None)
    telling = COMPACTED_CHAT if protocol is CHAT and state else protocol
    if not (provider.is_stream and asked.is_stream):
        content, call.spent = await provider_stream.whole(provider)
        call.answered()
        record_later(call)
        content = whole_answer(content)
        if protocol is CHAT and asked.choices == 1:
            content = meant_answer(content, of.tools, custom_tools(asked.given) & of.tools.keys())
        return await _whole(content, of, call, telling, asked)
    tally, kept = provider_stream.Tally(asked.choices), held.pop_all()
    take = partial(provider_stream.take_chunk, with_usage=asked.wants_usage or protocol.events is not None)
    events = with_whole_characters(provider_stream.events(provider, tally, take))
    if protocol is CHAT and asked.choices == 1:
        events = with_meant_calls(events, of.tools, custom_tools(asked.given) & of.tools.keys())
    if telling.events:
        events = telling.events(events, of)
    return _streamed(events, tally, call, kept, protocol)


async def _searched(
    asked: GatewayRequest, body: Json, state: State, call: Call, protocol: Protocol
) -> HttpResponseBase:
    """The answer of a model that may search the history, in one piece."""
    call.estimated = 0  # the usage is of several requests
    completion = await history_tools.answer(asked, body, state, call)
    call.answered()
    record_later(call)
    telling = COMPACTED_CHAT if protocol is CHAT else protocol
    return await _whole(json.dumps(completion).encode(), _caller_request(asked, call), call, telling, asked)


def _caller_request(asked: GatewayRequest, call: Call) -> CallerRequest:
    async def hold(answer: Json) -> None:
        if asked.protocol.hold:
            with suppress(DatabaseError, InterfaceError):  # a later request that names it is refused, this one is not
                await sync_to_async(asked.protocol.hold)(call.owner_id, asked.own, answer)

    model = identity_of(asked.profile)
    hold_thoughts = partial(held_thoughts.hold, call.owner_id, model)
    return CallerRequest(asked.given, call.before, call.before, model, hold, hold_thoughts, _schemas(asked.body))


def _schemas(body: Json) -> dict[str, Json]:
    """The schemas of the tools that a chat completion offers and lets the model call, by name."""
    tools = body.get("tools") if body.get("tool_choice") != "none" else None
    given = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    functions = [one for one in given if isinstance(one, dict) and isinstance(one.get("name"), str)]
    schemas = ((one["name"], one.get("parameters")) for one in functions)
    return {name: schema if isinstance(schema, dict) else {} for name, schema in schemas if name}


async def _by_messages(
    request: HttpRequest, asked: GatewayRequest, state: State | None, body: Json, call: Call, held: AsyncExitStack
) -> HttpResponseBase:
    """The answer to `body` by Anthropic's Messages. With a `state` its usage has the tokens that the caller sent."""
    call.left_out = ()
    used = asked.usage(state).total if state else call.before
    call.uses(state, tokens=used, estimated=asked.estimated(state))
    opening = native.ask_messages(asked.profile, body, request.headers, asking=call.asking)
    provider = await held.enter_async_context(opening)
    call.left_out = tuple(provider.left_out)
    if not (provider.is_stream and asked.is_stream):
        content, call.spent = await provider_stream.whole(provider, spent_on_message, message_of)
        call.answered()
        record_later(call)
        content = whole_answer(content)
        if state:
            content = native.with_tokens(content.decode(), call.before).encode()
        if asked.is_stream:
            text = "".join(event(one["type"], one) for one in events_of(json.loads(content)))
            return HttpResponse(text, content_type=EVENT_STREAM, headers=call.headers)
        return HttpResponse(content, content_type=JSON, headers=call.headers)
    tally, kept = provider_stream.Tally(), held.pop_all()
    events = with_whole_characters(provider_stream.events(provider, tally, native.take_event))
    if state:
        events = native.events_with_tokens(events, call.before)
    return _streamed(events, tally, call, kept, MESSAGES)


def _streamed(
    events: Events, tally: provider_stream.Tally, call: Call, kept: AsyncExitStack, protocol: Protocol
) -> HttpResponseBase:
    async def close() -> None:
        await kept.aclose()
        record_later(call)

    return stream(Stream(events, tally, call, close, protocol), call)


async def _whole(
    content: bytes, of: CallerRequest, call: Call, protocol: Protocol, asked: GatewayRequest
) -> HttpResponse:
    """The answer of a provider that came at once, as one object or as a stream, as the caller asked."""
    if asked.is_stream:
        events = streamed(json.loads(content), with_usage=asked.wants_usage or asked.protocol is not CHAT)
        events = protocol.events(events, of) if protocol.events else events
        text = "".join([event async for event in events])
        return HttpResponse(text, content_type=EVENT_STREAM, headers=call.headers)
    if protocol.whole is None:
        return HttpResponse(content, content_type=JSON, headers=call.headers)
    answer = await protocol.whole(json.loads(content), of)
    await of.hold(answer)
    return JsonResponse(answer, headers=call.headers)
