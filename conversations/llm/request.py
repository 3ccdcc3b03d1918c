"""A request to a model, and the gate that lets nothing else through to a provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from conversations.llm.tools import Spec

REFERENCE = "attachment:"
"""What the address of an image begins with, before the hash of its bytes: they are read when a request leaves."""


class StorageBoundaryError(TypeError):
    """Something other than an assembled prompt was about to leave for a model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one request, in the shape of OpenAI's chat completions. Made by `assemble` and `for_summary`.

    Images are references, to attachments of the conversation `images_of`: by the hash, wherever they are.
    """

    messages: tuple[dict[str, Any], ...]
    images_of: UUID | None = field(default=None, compare=False)
    tools: tuple[Spec, ...] = ()
    """Those that the model is offered; told without `may_call`, it is to answer by itself."""
    may_call: bool = True


def sendable(prompt: object) -> Prompt:
    """The gate before every provider: raises StorageBoundaryError for anything that was not assembled here."""
    if not isinstance(prompt, Prompt):
        raise StorageBoundaryError(f"only an assembled prompt can be sent to a model, not {type(prompt).__name__}")
    return prompt


def for_summary(system: str, request: str) -> Prompt:
    """The request for a summary: instructions, and the transcript as quoted data."""
    return Prompt(({"role": "system", "content": system}, {"role": "user", "content": request}))
