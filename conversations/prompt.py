"""What the model is sent: the system prompt, the summary, kept and live messages, in this order and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class StorageBoundaryError(TypeError):
    """Something other than an assembled prompt was about to leave for a model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one request, in the shape of OpenAI's chat completions. Made by `assemble` and `for_summary`."""

    messages: tuple[dict[str, Any], ...]


def sendable(prompt: object) -> Prompt:
    """The gate before every provider: raises StorageBoundaryError for anything that was not assembled here."""
    if not isinstance(prompt, Prompt):
        raise StorageBoundaryError(f"only an assembled prompt can be sent to a model, not {type(prompt).__name__}")
    return prompt
