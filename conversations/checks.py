"""Settings that cannot work stop the start, and are named."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SHORTEST_KEY = 32
SMALLEST_WINDOW = 1_024
"""Tokens: the least that holds a system prompt, a message and a reply."""


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    return [Error(text, id="conversations.E001") for text in _faults()]


def _faults() -> Iterator[str]:
    if len(settings.SECRET_KEY) < SHORTEST_KEY or settings.SECRET_KEY.startswith("django-insecure-"):
        yield f"SECRET_KEY must have at least {SHORTEST_KEY} characters, and be a secret."
    window = settings.OPENAI_CONTEXT_WINDOW
    if window is not None and window < SMALLEST_WINDOW:
        yield f"OPENAI_CONTEXT_WINDOW must be at least {SMALLEST_WINDOW} tokens, not {window}."
    if not 0 < settings.MODEL_TIMEOUT_SECONDS < inf:
        yield "MODEL_TIMEOUT_SECONDS must be a number of seconds, more than 0."
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        if getattr(settings, name) and not _is_address(getattr(settings, name)):
            yield f"{name} must begin with http:// or https:// and name a host."


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
