"""Faults of a model's provider, each with words for a person."""

from __future__ import annotations

import re


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

    @property
    def kind(self) -> str:
        """The error's class in the words of a label: rate_limited, key_refused, …"""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


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
