"""Anthropic's Messages as one of the gateway's protocols."""

from __future__ import annotations

from dataclasses import replace

from conversations.gateway.anthropic import reply, request
from conversations.gateway.chunks import event
from conversations.gateway.protocol import Protocol

MESSAGES = Protocol(
    read=request.read,
    instructed=request.instructed,
    error=reply.error,
    broken=reply.broken,
    reserves_limit=False,  # every request has one, as large as the largest models allow
    whole=reply.whole,
    events=reply.events,
    known=request.KNOWN,
    statuses={"context_too_large": 400},
    ping=event("ping", {"type": "ping"}),
)
COUNTED = replace(MESSAGES, read=request.read_to_count)
"""The request of a token count, which needs no limit for the reply."""
