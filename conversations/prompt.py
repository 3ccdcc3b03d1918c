"""What the model is sent: the system prompt, the summary, kept and live messages, in this order and no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from compression.core.values import Turn, Usage
from conversations import system_prompt, transcript
from conversations.llm.known import UNKNOWN_WINDOW
from conversations.models import Conversation
from conversations.system_prompt import Instructions
from conversations.transcript import Head, Loaded


class StorageBoundaryError(TypeError):
    """Something other than an assembled prompt was about to leave for a model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one request, in the shape of OpenAI's chat completions. Made by `assemble` and `for_summary`."""

    messages: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Context:
    """Exactly what would be sent next, and what it costs (None where no model is set)."""

    prompt: Prompt
    usage: Usage | None

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        return self.prompt.messages


def sendable(prompt: object) -> Prompt:
    """The gate before every provider: raises StorageBoundaryError for anything that was not assembled here."""
    if not isinstance(prompt, Prompt):
        raise StorageBoundaryError(f"only an assembled prompt can be sent to a model, not {type(prompt).__name__}")
    return prompt


def look(conversation: Conversation) -> Context:
    """The next request of a conversation, as it stands now."""
    loaded = transcript.load(conversation.pk)
    return Context(assemble(loaded), loaded.usage(system_tokens=system_tokens(loaded.head)))


def assemble(loaded: Loaded) -> Prompt:
    """The request for a loaded conversation: its new message is the last of the live ones."""
    messages = [{"role": "system", "content": system_prompt.text(instructions_of(loaded.head))}]
    if loaded.head.compressed_context is not None:
        messages.append({"role": settings.COMPRESSION_SUMMARY_ROLE, "content": loaded.head.compressed_context})
    for turn in loaded.turns:
        messages.extend(as_messages(turn))
    return Prompt(tuple(messages))


def for_summary(system: str, request: str) -> Prompt:
    """The request for a summary: instructions, and the transcript as quoted data."""
    return Prompt(({"role": "system", "content": system}, {"role": "user", "content": request}))


def instructions_of(head: Head) -> Instructions:
    window = head.window.size if head.window else UNKNOWN_WINDOW
    is_bare = head.kind == Conversation.Kind.GATEWAY  # its caller has a system prompt of its own
    return Instructions(head.mode, head.system_prompt, head.goal, tuple(head.rules), window, is_bare)


def system_tokens(head: Head) -> int:
    return system_prompt.tokens(instructions_of(head))


def as_messages(turn: Turn) -> Iterator[dict[str, Any]]:
    """A message of the history as it is sent, then the results of its calls, which were cut when they were read."""
    if turn.role == "tool":
        # A result whose call is not known: no provider takes it as one.
        content = transcript.ELIDED if turn.elided else turn.content
        yield {"role": "user", "content": transcript.as_sent(turn.role, content)}
        return
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.tools:
        message["tool_calls"] = [
            {"id": use.call_id, "type": "function", "function": {"name": use.name, "arguments": use.arguments}}
            for use in turn.tools
        ]
    yield message
    for use in turn.tools:
        result = transcript.NO_RESULT if use.result is None else use.result
        result = transcript.ELIDED if turn.elided else result
        yield {"role": "tool", "tool_call_id": use.call_id, "content": result}
