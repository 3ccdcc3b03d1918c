"""Lets a call in: its key, its body, and the summary that may stand for the beginning of its history."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest

from conversations import api_keys, spending
from conversations.admission import admission_of
from conversations.errors import Invalid
from conversations.gateway import checkpoints
from conversations.gateway.anthropic.models import VERSION
from conversations.gateway.anthropic.protocol import MESSAGES
from conversations.gateway.call_log import Call
from conversations.gateway.chat_completions.protocol import CHAT
from conversations.gateway.checkpoints import State
from conversations.gateway.documents import read_for
from conversations.gateway.projects import project_of
from conversations.gateway.protocol import Protocol
from conversations.gateway.request import GatewayRequest, parse_request
from conversations.gateway.responses import Unauthenticated
from conversations.validation import json_text


def begun(request: HttpRequest, call: Call, protocol: Protocol) -> tuple[GatewayRequest, State | None]:
    """(the call, the stored summary if the history is too long without one). Runs in a thread."""
    asked = parsed(request, call, protocol)
    spending.require_budget(call.owner_id, call.key)
    call.profile, call.is_stream, call.left_out = asked.profile, asked.is_stream, asked.left_out
    call.before = call.after = asked.usage(None).total
    return asked, stored_for(asked, call)


def stored_for(asked: GatewayRequest, call: Call) -> State | None:
    """The stored summary for a call, if its history is too long without one."""
    if not asked.is_due(None):
        return None
    state = checkpoints.known(call.owner_id, asked.history)
    if state is None or asked.is_due(state):
        state = checkpoints.find_checkpoint(call.owner_id, asked.history)
    return state


def spoken_in(request: HttpRequest) -> Protocol:
    """The protocol that the headers of a request without a body name."""
    return MESSAGES if VERSION in request.headers else CHAT


def parsed(request: HttpRequest, call: Call, protocol: Protocol) -> GatewayRequest:
    """Authenticate the call and parse it. Raises Refused."""
    signed_in(request, call)
    read_for(call.owner_id)
    text = json_text(request)
    assert call.key is not None
    return parse_request(text, protocol, owner_id=call.owner_id, project=project_of(request, call.key))


def signed_in(request: HttpRequest, call: Call) -> None:
    """The owner of the key in the request, where OpenAI's and Anthropic's clients send it. Raises Refused."""
    try:
        request.get_host()
    except DisallowedHost:
        raise Invalid("host: this site has another name.", field="host") from None
    plain = api_keys.key_in(request.headers.get("Authorization", ""), request.headers.get("X-Api-Key", ""))
    call.key = api_keys.let_in(plain, address=request.META.get("REMOTE_ADDR", ""))
    if call.key is None:
        raise Unauthenticated
    if admission := admission_of(request):
        admission.by_key(call.key)


async def let_thread_go(request: HttpRequest) -> None:
    """Give up the request's thread: from here on the call mostly waits."""
    if let_go := request.scope.get("let_go"):  # type: ignore[attr-defined]
        await let_go()
