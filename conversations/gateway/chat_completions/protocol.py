"""OpenAI's chat completions as one of the gateway's protocols."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import replace

from conversations.gateway.chat_completions.request import in_own_form, read
from conversations.gateway.protocol import CallerRequest, Events, Json, Protocol, chat_error
from conversations.llm.providers.reported_usage import tokens_of

_USAGE = re.compile(r'"usage":\s*\{')

CHAT = Protocol(
    read=read,
    error=chat_error,
    broken=lambda error: f"data: {json.dumps(error)}\n\n",
    # As OpenAI has it: clients make room themselves after this status and code, and ask again after others.
    statuses={"context_too_large": 400},
    completed=in_own_form,
)
"""A valid request passes unchanged."""


def _with_usage(answer: Json, asked: CallerRequest) -> Json:
    """The answer with the tokens of the caller's own request as its prompt tokens, if it has a usage."""
    usage = answer.get("usage")
    if not isinstance(usage, dict) or asked.tokens is None:
        return answer
    total = asked.tokens + tokens_of(usage).completion
    return answer | {"usage": usage | {"prompt_tokens": asked.tokens, "total_tokens": total}}


async def _whole_with_usage(answer: Json, asked: CallerRequest) -> Json:
    return _with_usage(answer, asked)


async def _events_with_usage(events: Events, asked: CallerRequest) -> Events:
    """The events unchanged, but for the one with the usage."""
    async with aclosing(events):
        async for event in events:
            yield _event_with_usage(event, asked) if _USAGE.search(event) else event


def _event_with_usage(event: str, asked: CallerRequest) -> str:
    try:
        chunk = json.loads(event.removeprefix("data:"))
    except ValueError:
        return event  # it has other lines too
    return f"data: {json.dumps(_with_usage(chunk, asked), ensure_ascii=False)}\n\n"


COMPACTED_CHAT = replace(CHAT, whole=_whole_with_usage, events=_events_with_usage)
"""Report the client's own token usage, not the compacted one: clients that compact themselves decide by it."""
