"""The protocols of the gateway's callers, by their differences; inside, all of them are chat completions."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conversations.errors import Refused, as_json
from conversations.gateway.chunks import DONE, PartialCompletion
from conversations.llm.providers.choices import finish_reason_of, message_in
from conversations.llm.providers.written_forms import Schemas
from conversations.models import ModelProfile

Json = dict[str, Any]
Events = AsyncGenerator[str]
"""Events of a stream, each as the text that is sent."""


async def _hold_nothing(answer: Json | PartialCompletion) -> None:
    pass


@dataclass(frozen=True, slots=True)
class CallerRequest:
    """The request of an answer, as the caller sent it, and the `tokens` of that.

    `tokens` is None if the provider got this request unchanged, so that its own figure applies; `counted` is our own
    count, for providers that report none. `model` is the model that answers, as the seals of its thoughts name it.
    `hold` holds the answer for later requests, `hold_thoughts` the thoughts behind its calls. `tools` are the schemas
    of the tools that the model may call, by the names that it was given.
    """

    body: Json
    tokens: int | None = None
    counted: int = 0
    model: str = ""
    hold: Callable[[Json], Awaitable[None]] = _hold_nothing
    hold_thoughts: Callable[[PartialCompletion], Awaitable[None]] = _hold_nothing
    tools: Schemas = field(default_factory=dict)

    def reading(self) -> PartialCompletion:
        """The reader of the answer."""
        return PartialCompletion(self.tools)


def with_system_message(body: Json, instructions: str) -> Json:
    """A chat completion with instructions after its first system messages."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    is_lead = [isinstance(one, dict) and one.get("role") in ("system", "developer") for one in messages]
    place = next((place for place, leads in enumerate(is_lead) if not leads), len(messages))
    return body | {"messages": [*messages[:place], {"role": "system", "content": instructions}, *messages[place:]]}


@dataclass(frozen=True, slots=True)
class Protocol:
    """How callers speak. `read` makes the body of a chat completion of theirs, for a model, and raises Invalid.

    `whole` and `events` make their answer of a chat completion, and of its stream; None: it passes unchanged. `error`
    and `broken` are an error as a whole answer, and as the last event of a stream. `statuses` are those of errors, by
    our codes, that have another one here.
    """

    read: Callable[[Json, ModelProfile], Json]
    error: Callable[[Refused], Json]
    broken: Callable[[Json], str]
    reserves_limit: bool = True
    """Whether the window reserves the caller's limit for the reply; otherwise the limit is lowered to the available
    room."""
    whole: Callable[[Json, CallerRequest], Awaitable[Json]] | None = None
    events: Callable[[Events, CallerRequest], Events] | None = None
    statuses: Mapping[str, int] = field(default_factory=dict)
    known: frozenset[str] | None = None
    """The fields of its requests; None: those that `options` names."""
    unoffered: Callable[[Json], Sequence[str]] = lambda body: ()
    """The names of a request's tools that no model is offered."""
    completed: Callable[[Json, int], Json] = lambda body, owner_id: body
    """The request of a person with all that it names of earlier ones; raises Invalid."""
    instructed: Callable[[Json, str], Json] = with_system_message
    """The request with further instructions after its own, so that caches keep its beginning."""
    hold: Callable[[int, Json, Json], None] | None = None
    """Holds an answer to a person's request, so that later ones may name it."""
    ping: str = ": ping\n\n"
    """The text that is sent in a silence of a stream: a comment, or an event that clients leave out."""


TYPES = {401: "authentication_error", 402: "insufficient_quota", 404: "not_found_error", 429: "rate_limit_error"}


CODES = {"context_too_large": "context_length_exceeded", "provider_rate_limited": "rate_limit_exceeded"}
"""Our codes for which OpenAI's clients look by other names."""


def chat_error(refusal: Refused) -> Json:
    """The error as OpenAI's clients read it, with OpenAI's own code where clients act on it."""
    kind = TYPES.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error")
    return as_json(refusal, code=CODES.get(refusal.code, refusal.code), type=kind, param=refusal.detail.get("field"))


async def streamed(completion: Json, *, with_usage: bool) -> Events:
    """A whole chat completion as the events of a stream: all of it in one chunk, its usage in another."""
    head = {name: value for name, value in completion.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    chunks: list[Json] = [head | {"choices": [_streamed(choice) for choice in completion.get("choices") or ()]}]
    if with_usage and completion.get("usage"):
        chunks.append(head | {"choices": [], "usage": completion["usage"]})
    for data in (*(json.dumps(chunk, ensure_ascii=False) for chunk in chunks), DONE):
        yield f"data: {data}\n\n"


def _streamed(choice: Json) -> Json:
    said = message_in(choice)
    if said.get("tool_calls"):
        said = said | {"tool_calls": [{"index": place} | call for place, call in enumerate(said["tool_calls"])]}
    reason = finish_reason_of(choice) or "stop"
    return {"index": choice.get("index", 0), "delta": said, "finish_reason": reason}
