"""The port to a language model: one prompt in, text out; every fault is one of the errors below."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from conversations.llm.request import Prompt
from conversations.llm.tools import ToolRequest

if TYPE_CHECKING:
    from conversations.llm.retries import Attempts

OnWritten = Callable[[int], None]
"""Told how many characters of a reply are there, from 0 again where it is asked for once more."""

MAX_TOKENS = 2**31 - 1
"""The largest figure that a row can hold; no request comes near it."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens as the provider reported them."""

    prompt: int
    completion: int
    cached: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            min(self.prompt + other.prompt, MAX_TOKENS),
            min(self.completion + other.completion, MAX_TOKENS),
            min(self.cached + other.cached, MAX_TOKENS),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply. The last one carries why it ended, and what it cost where the provider says so.

    `refused`, of the last one: the model declined, and the text is its refusal or what a filter left of the reply.
    `calls`, of the last one too: the tools that it wants called before it goes on.
    """

    text: str = ""
    finish_reason: str | None = None
    spent: Spent | None = None
    refused: bool = False
    calls: tuple[ToolRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. `finish_reason` is the provider's: "stop", or "length" for one that was cut off."""

    text: str
    finish_reason: str
    spent: Spent | None = None
    refused: bool = False


class Model(Protocol):
    """A model that can be asked. Both verbs raise ModelError, and nothing else, for a fault of the provider.

    They make no more requests than `attempts` has left; None: each call has a budget of its own.
    """

    name: str

    def stream(self, prompt: Prompt, *, attempts: Attempts | None = None) -> AsyncGenerator[Delta]:
        """The reply piece by piece; ends with a delta that has a finish_reason, or raises."""
        ...

    async def complete(
        self, prompt: Prompt, *, max_tokens: int, attempts: Attempts | None = None, on_written: OnWritten | None = None
    ) -> Reply:
        """The reply at once, of at most `max_tokens`."""
        ...
