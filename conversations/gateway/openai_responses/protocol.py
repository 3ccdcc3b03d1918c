"""OpenAI's Responses as one of the gateway's protocols."""

from __future__ import annotations

from conversations.errors import Refused
from conversations.gateway.openai_responses import events, reply, request
from conversations.gateway.protocol import Json, Protocol, chat_error


def error(refusal: Refused) -> Json:
    """The error with OpenAI's own code where clients act on it."""
    told = chat_error(refusal)
    return told | {"error": told["error"] | {"code": events.CODES.get(refusal.code, refusal.code)}}


RESPONSES = Protocol(
    read=request.read,
    error=error,
    broken=events.broken,
    whole=reply.whole,
    events=events.events,
    known=request.KNOWN,
    # Codex asks five times more after any other status.
    statuses={"context_too_large": 400},
)
