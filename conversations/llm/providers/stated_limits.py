"""Reads the limit that a server names when it refuses a request as too long."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from compression.core.lazy_pattern import lazy_pattern
from conversations.llm.providers.complaints import own_words

MIN_LIMIT = 512
"""The smallest number of tokens that is taken for a limit: others count messages, images or tools."""
MAX_READ_CHARS = 4_000
"""The characters of an error that are looked at."""

_NUMBER = r"(?<![\d.,])(\d{1,3}(?:[,_]\d{3})+|\d{3,9})(?!\d)(?![\d,]*\.\d)(?!\s*(?:\+|characters|chars|bytes|images?))"
_AFTER = lazy_pattern(
    r"(?:\bmax\w*|\blimit\w*|\bonly\b|\bup to\b|\bat most\b|\bexceed(?:s|ed|ing)?\b|<=|[<>]|\[\s*[01]\s*,"
    r"|\b(?:longer|larger|greater|more|less|fewer) than\b|\bwindow (?:of|size)\b|\bcontext (?:size|length)\b)"
    rf"[^\d]{{0,60}}?{_NUMBER}",
    re.IGNORECASE,
)
_BEFORE = lazy_pattern(rf"{_NUMBER}\s*(?:tokens?\s*)?(?:maximum|max\b|limit\b)", re.IGNORECASE)
_OF_CODES = lazy_pattern(r"\(2013\)|\bstring too long\b", re.IGNORECASE)
"""The words of refusals with another number: MiniMax ends them with its error code, OpenAI counts characters."""
_REQUESTED = lazy_pattern(
    rf"\blimit:?\s*{_NUMBER}[,;]?\s*(?:used:?\s*\d[\d,]*[,;]?\s*)?requested:?\s*{_NUMBER}", re.IGNORECASE
)


def limit_stated_in(complaint: str) -> int | None:
    """The tokens that a refusal of too long a prompt names as the limit, the smallest of several; None without any."""
    text = complaint[:MAX_READ_CHARS]
    if _OF_CODES.search(text):
        return None
    found = [*_AFTER.findall(text), *_BEFORE.findall(text)]
    limits = [tokens for tokens in map(_tokens, found) if tokens >= MIN_LIMIT]
    return min(limits, default=None)


def exceeds_rate(complaint: str) -> bool:
    """Whether a request alone has more tokens than a server takes in a minute: no wait would help."""
    found = _REQUESTED.search(complaint[:MAX_READ_CHARS])
    return found is not None and _tokens(found[2]) > _tokens(found[1]) >= MIN_LIMIT


async def limit_of(fault: Exception, body: dict[str, Any]) -> int | None:
    """The limit that a provider's error names in its own words, not in those of the request's `body`."""
    complaint = getattr(fault, "body", None)
    return limit_stated_in(await asyncio.to_thread(own_words, str(complaint), body)) if complaint else None


def _tokens(number: str) -> int:
    return int(re.sub("[,_]", "", number))
