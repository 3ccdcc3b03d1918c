"""OpenAI's Responses as one of the gateway's protocols."""

from __future__ import annotations

from conversations.gateway.openai_responses import events, held, reply, request, tools
from conversations.gateway.protocol import Protocol, chat_error

RESPONSES = Protocol(
    read=request.read,
    error=chat_error,
    broken=events.broken,
    whole=reply.whole,
    events=events.events,
    known=request.KNOWN,
    unoffered=tools.unoffered,
    completed=held.completed,
    instructed=request.instructed,
    hold=held.hold,
    # Codex asks five times more after any other status.
    statuses={"context_too_large": 400},
)
