"""What went wrong at a provider, as one of the port's errors, in words for the person who waits.

No text of a provider is passed on: it may quote the key or the conversation. Only its error code is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from conversations.llm.attempts import in_words, retry_after
from conversations.llm.base import (
    BrokenReply,
    ContextTooLong,
    KeyRefused,
    ModelError,
    ModelNotFound,
    RateLimited,
    RequestRefused,
    Unavailable,
)

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context (length|size|window)|prompt is too long|too many input token",
    re.IGNORECASE,
)
_CODE = re.compile(r"[a-z][a-z0-9_]{2,60}")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked, as errors name it."""

    name: str
    model: str
    base_url: str
    timeout: float

    @property
    def host(self) -> str:
        """Host and port, without a user name and password that the address may carry."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


def explain(fault: Exception, asked: Asked, *, begun: bool) -> ModelError:
    """The error that a fault means; `begun` says whether a part of the reply had come."""
    import openai

    match fault:
        case ModelError():
            return fault
        case openai.APITimeoutError() if type(fault.__cause__).__name__ != "ConnectTimeout":
            return _silent(asked, begun)
        case openai.APIConnectionError():
            return _disconnected(fault, asked, begun)
        case openai.APIStatusError():
            wait = retry_after(fault.response.headers.get("retry-after"))
            return of_status(fault.status_code, fault.body, asked, wait=wait)
        case openai.APIError():
            return _midway(fault, asked, begun)
    return BrokenReply(f"{asked.name}: what {asked.host} sent could not be read as a reply. Check the base URL.")


def of_status(status: int, body: object, asked: Asked, *, wait: float | None = None) -> ModelError:
    """The error that an HTTP status and the body with it mean."""
    code = code_of(body)
    known = f"{status}, {code}" if code else str(status)
    if is_too_long(body):
        return ContextTooLong(
            f"{asked.name}: the conversation is longer than the model's context window ({known}). "
            "Compact it, or use a model with a larger window."
        )
    if status in (401, 403):
        return KeyRefused(f"{asked.name}: the provider refused the API key ({known}). Check the key of this model.")
    if status == 404:
        return ModelNotFound(
            f'{asked.name}: {asked.host} does not know the model "{asked.model}" ({known}). '
            "Check the model id and the base URL."
        )
    if status == 429:
        return _limited(code, asked, wait)
    if status == 409:
        return RequestRefused(f"{asked.name}: the provider reports a conflict ({known}). Try again.", retryable=True)
    if status == 408 or status >= 500:
        return Unavailable(
            f"{asked.name}: the provider has a fault ({known}){_asks(wait)}. Try again.", retry_after=wait
        )
    return RequestRefused(f"{asked.name}: the provider refused this request ({known}). Check the model's settings.")


def is_too_long(body: object) -> bool:
    return bool(_TOO_LONG.search(str(body)))


def code_of(body: object) -> str:
    """The error code of a body, "" where there is none that is plainly a code."""
    found = (body.get("code") or body.get("type")) if isinstance(body, dict) else None
    return found if isinstance(found, str) and _CODE.fullmatch(found) else ""


def _limited(code: str, asked: Asked, wait: float | None) -> ModelError:
    if code == "insufficient_quota":
        return RateLimited(
            f"{asked.name}: the account has no credit left (429, {code}). Add credit or use another model.",
            retryable=False,
        )
    advice = "Try again later" if wait is None or wait > 60 else "Try again"
    return RateLimited(
        f"{asked.name}: too many requests for the provider (429){_asks(wait)}. {advice}.", retry_after=wait
    )


def _asks(wait: float | None) -> str:
    return "" if wait is None else f"; it asks to wait {in_words(wait)}"


def _silent(asked: Asked, begun: bool) -> ModelError:
    # Not asked again: the person has waited for the whole time-out already, and a slow server only gets slower.
    silence = f"nothing came from {asked.host} for {in_words(asked.timeout)}"
    if begun:
        return BrokenReply(f"{asked.name}: the reply broke off; {silence}. Try again.", retryable=False)
    return Unavailable(f"{asked.name}: {silence}. Try again, or use another model.", retryable=False)


def _disconnected(fault: Exception, asked: Asked, begun: bool) -> ModelError:
    cause = type(fault.__cause__).__name__
    if begun:
        return BrokenReply(f"{asked.name}: the reply broke off: {asked.host} closed the connection. Try again.")
    reached = "closed the connection" if cause.startswith(("Read", "Remote", "Write")) else "cannot be reached"
    return Unavailable(f"{asked.name}: {asked.host} {reached}. Check that the server runs, and the base URL.")


def _midway(fault: Any, asked: Asked, begun: bool) -> ModelError:
    """An error event within a stream that began with 200; some gateways put an HTTP status into its code."""
    status = int(fault.code) if str(fault.code).isdecimal() else 0
    if is_too_long(fault.body):
        return of_status(400, fault.body, asked)
    if not begun and 400 <= status < 600:
        return of_status(status, fault.body, asked)
    code = code_of(fault.body)
    return BrokenReply(f"{asked.name}: the provider broke the reply off{f' ({code})' if code else ''}. Try again.")
