"""The port to a language model: one prompt in, text out; every fault is one of the errors below."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from conversations.agents.tools.spec import Asked
from conversations.prompt import Prompt

if TYPE_CHECKING:
    from conversations.llm.attempts import Attempts

OnWritten = Callable[[int], None]
"""Told how many characters of a reply are there, from 0 again where it is asked for once more."""

MOST_TOKENS = 2**31 - 1
"""The largest figure that a row can hold; no request comes near it."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens as the provider reported them."""

    prompt: int
    completion: int
    cached: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            min(self.prompt + other.prompt, MOST_TOKENS),
            min(self.completion + other.completion, MOST_TOKENS),
            min(self.cached + other.cached, MOST_TOKENS),
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
    calls: tuple[Asked, ...] = ()


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


class ModelError(Exception):
    """A fault of a provider. The text is for a person: what happened and what to do, and never a secret.

    `retry_after` is in seconds, where the provider gave one. `retryable` says whether asking again soon may help;
    an error of a kind that usually helps can be one that does not.
    """

    retryable = False

    def __init__(self, reason: str, *, retry_after: float | None = None, retryable: bool | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        if retryable is not None:
            self.retryable = retryable


class NotConfigured(ModelError):
    """There is no model to ask, or its profile lacks something."""


class KeyRefused(ModelError):
    """401 or 403."""


class ModelNotFound(ModelError):
    """404: the model or the address is unknown to the provider."""


class RequestRefused(ModelError):
    """400, 409 (after its retries), 413, 422: the provider does not want this request."""


class ContextTooLong(ModelError):
    """The provider says that the prompt is larger than its window."""


class RateLimited(ModelError):
    """429; retried within the attempt budget where `retry_after` is short, else said so."""

    retryable = True


class Unavailable(ModelError):
    """408, 5xx, no connection, a connection that broke before any text, or a time-out."""

    retryable = True


class BrokenReply(ModelError):
    """What came is not a reply: HTML, no choices, no content, a stream that broke or had no end."""

    retryable = True


class CalledAnyway(BrokenReply):
    """It called a tool and said nothing, where it was told not to call any."""


class NothingWritten(BrokenReply):
    """All the tokens that it might use went before a word was written, as reasoning models can spend them."""

    retryable = False
