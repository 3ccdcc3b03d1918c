"""Reads the time that a provider asks to wait: in headers, in the error's details, or in its words alone.

Sources: the references of OpenAI (`retry-after-ms`), Google's `RetryInfo`, OpenRouter (`X-RateLimit-Reset`), and the
refusals of Groq, Azure, Moonshot, GitHub Models and LiteLLM.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from compression.core.lazy_pattern import lazy_pattern
from conversations.llm.retries import retry_after

MAX_CHARS = 500
"""The characters of the provider's words that are read."""
MAX_SECONDS = 32 * 86_400.0
"""The longest wait that is believed: a month, after which quotas are new."""
RESET = "x-ratelimit-reset"

_AMOUNT = r"\d{1,9}(?:\.\d{1,12})?"
_PART = rf"{_AMOUNT}\s?(?:ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|d|days?)(?![a-z])"
_DURATION = lazy_pattern(rf"({_AMOUNT})\s?(ms|mil|s|m|h|d)")
_WORDS = lazy_pattern(rf"(?:try|retry|wait)(?:ing)?(?: again)?(?: in| after| for)? ((?:{_PART}\s?){{1,4}})")
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def wait_in_headers(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header, or of OpenAI's more precise one."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return milliseconds / 1_000 if milliseconds is not None else retry_after(headers.get("retry-after"))


def wait_in_error(error: Mapping[str, Any], words: str) -> float | None:
    """The seconds in the details of an error object, else in the provider's `words`; None without any."""
    seconds = _in_details(error)
    if seconds is None and (found := _WORDS.search(words[:MAX_CHARS].lower())):
        seconds = _seconds(found[1])
    return seconds if seconds is not None and 0 <= seconds <= MAX_SECONDS else None


def _in_details(error: Mapping[str, Any]) -> float | None:
    """The seconds of Google's `retryDelay`, such as "34.07s", or until OpenRouter's time of the next request."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay[:20].endswith("s"):
            return _seconds(delay)
    metadata = error.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    for name, value in headers.items() if isinstance(headers, dict) else []:
        if name.lower() == RESET and isinstance(value, str) and value.isdecimal() and len(value) == 13:
            return max(0.0, int(value) / 1_000 - time.time())
    return None


def _seconds(duration: str) -> float | None:
    """The seconds of "34s", "6m0s", "120ms", "1 minute 5 seconds"; None for anything else."""
    parts = [float(amount) * _SECONDS[unit] for amount, unit in _DURATION.findall(duration)]
    return math.fsum(parts) if parts else None
