"""The errors of model providers, each with a text for people."""

from __future__ import annotations

import re
from typing import Any

from compression.core.error_codes import ErrorCode


class ModelError(Exception):
    """An error of a provider. Its text, for people, says what happened and what to do; it never contains a secret.

    `retry_after`: the seconds that the provider asked to wait, if any. `retryable`: asking again soon may help; an
    instance can differ from its class. `code` is the ErrorCode of a row that fails by it.
    """

    retryable = False
    code = ""
    provider_words = ""
    """The provider's own words, without keys; "" if it sent none."""

    def __init__(
        self, reason: str, *, retry_after: float | None = None, retryable: bool | None = None, code: str = ""
    ) -> None:
        super().__init__(reason)
        self.code = code or self.code
        self.reason = reason
        self.retry_after = retry_after
        if retryable is not None:
            self.retryable = retryable

    @property
    def kind(self) -> str:
        """The error's class as a label: rate_limited, key_refused, …"""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


class NotConfigured(ModelError):
    """No model is set up, or its profile is incomplete."""


class KeyRefused(ModelError):
    """401 or 403, at some providers 400: the provider refused the API key."""

    code = ErrorCode.KEY_REFUSED


class NoCredit(ModelError):
    """The account at the provider has no credit left: 402, or another status with words that say so."""

    code = ErrorCode.NO_CREDIT


class ModelNotFound(ModelError):
    """404: the model or the address is unknown to the provider, or the account may not use the model."""

    code = ErrorCode.MODEL_NOT_FOUND


class RequestRefused(ModelError):
    """400, 409 (after its retries), 413 or 422: the provider refused this request."""

    code = ErrorCode.REQUEST_REFUSED


class ContextTooLong(ModelError):
    """The provider refused the prompt as larger than the model's window."""

    code = ErrorCode.CONTEXT_TOO_LARGE
    is_servers_fault = False
    """Whether it came with a status of 500 or more: servers whose slots share one cache say so of small prompts too."""
    limit: int | None = None
    """The tokens that the server names as its limit; None: it names none."""


class RateLimited(ModelError):
    """429: retried within the budget of attempts if `retry_after` is short."""

    code = ErrorCode.RATE_LIMITED
    retryable = True


class Unavailable(ModelError):
    """408, 5xx, no connection, a connection that broke before any text, or a time-out."""

    code = ErrorCode.PROVIDER_FAULT
    retryable = True


class BrokenReply(ModelError):
    """The response is not a reply: HTML, no choices, no content, or a stream that broke or had no end."""

    code = ErrorCode.BROKEN_REPLY
    retryable = True


class ForbiddenToolCall(BrokenReply):
    """The model called a tool and wrote no text although its prompt forbade calls."""


class EmptyReply(BrokenReply):
    """The model used all its tokens before it wrote any text, as reasoning models can. `spent`: as in a Reply."""

    code = ErrorCode.EMPTY_REPLY
    retryable = False
    spent: Any = None
