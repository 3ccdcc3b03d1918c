"""The prompt of a request to a model, and the check that nothing else is sent to a provider."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from conversations.llm.thinking.thoughts import Returned
from conversations.llm.tools import Spec

REFERENCE = "attachment:"
"""The prefix of an image's URL in a prompt, before the hash of its bytes, which are read when the request is sent."""


class StorageBoundaryError(TypeError):
    """Something other than an assembled prompt was about to be sent to a model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one request, in the form of OpenAI's chat completions. Made by `assemble` and for summaries.

    Images are references (REFERENCE and a hash) to attachments of the conversation `images_of`.
    """

    messages: tuple[dict[str, Any], ...]
    images_of: UUID | None = field(default=None, compare=False)
    tools: tuple[Spec, ...] = ()
    """The tools that the model is offered; without `may_call` it gets them but must not call any."""
    may_call: bool = True
    recurring: int = field(default=0, compare=False)
    """The number of messages, from the first on, that the conversation's later requests begin with too."""
    thoughts: tuple[tuple[int, Returned], ...] = field(default=(), compare=False)
    """(place, thoughts) of this turn's messages with tool calls; the place counts from the end, -1 is the last one."""

    def thoughts_at(self, place: int, model: str) -> Returned:
        """The thoughts that go back with the message at a place from the start; empty if there are none of `model`."""
        known = next((one for at, one in self.thoughts if at == place - len(self.messages)), {})
        return known if known.get("model") == model else {}


def sendable(prompt: object) -> Prompt:
    """The prompt unchanged; raises StorageBoundaryError for anything else. Every provider calls it first."""
    if not isinstance(prompt, Prompt):
        raise StorageBoundaryError(f"only an assembled prompt can be sent to a model, not {type(prompt).__name__}")
    return prompt


def for_summary_within(conversation: Prompt, request: str) -> Prompt:
    """The prompt of a request for a summary at the end of a conversation's own: it begins with the same messages."""
    messages = (*conversation.messages, {"role": "user", "content": request})
    return replace(conversation, messages=messages, recurring=len(conversation.messages))


def for_summary(system: str, request: str) -> Prompt:
    """The prompt of a request for a summary: the instructions, and the transcript as quoted data."""
    return Prompt(({"role": "system", "content": system}, {"role": "user", "content": request}))
