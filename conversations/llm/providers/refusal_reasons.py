"""Recognises why a provider refuses a request: providers give the same reason different statuses.

Sources: the error references of OpenAI, Anthropic, Google AI, Azure, xAI, DeepSeek, Moonshot, Zhipu, DashScope,
Volcengine, OpenRouter, Groq, Mistral, Together, Hugging Face, SiliconFlow, LiteLLM and new-api.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

from compression.core.lazy_pattern import lazy_pattern

MAX_CHARS = 500
"""The characters of the provider's words that are read: behind them it may quote the request."""
CODE_FIELDS = ("code", "type", "status", "reason", "raw")
"""The fields of an error that name its kind; `raw` is the error of a provider behind OpenRouter."""


class Reason(Enum):
    COUNTRY = auto()
    CONTENT = auto()
    NO_CREDIT = auto()
    RIGHTS = auto()
    MODEL = auto()
    KEY = auto()


_COUNTRY = lazy_pattern(
    r"unsupported_country|country, region,? or territory|(?:user )?location is not supported"
    r"|not (?:available|supported) in your (?:country|region)",
    re.IGNORECASE,
)
_CONTENT = lazy_pattern(
    r"\bcontent[_ ](?:filter(?:ed|ing)?|policy(?:_violation)?)\b|content management policy|data_inspection_failed"
    r"|inappropriate content|requires moderation|(?:input|prompt) was flagged|content exists risk|considered high risk"
    r"|violat\w+ (?:our |the )?usage (?:guidelines|polic)|safety_check|prohibited_content|moderation_blocked|敏感内容",
    re.IGNORECASE,
)
_NO_CREDIT = lazy_pattern(
    r"insufficient[_ ](?:user_)?(?:quota|balance|credits?|funds)|billing_error|exceeded_current_quota"
    r"|balance is (?:too low|insufficient)|overdue balance|arrearage|freetieronly|free tier [^.]{0,40}exhausted"
    r"|(?:credit|spending) limit exceeded|used all available credits|monthly included credits"
    r"|(?:doesn't|does not) have any credits|more credits\b|reached your specified api usage limits"
    r"|budget has been exceeded|budget_exceeded|余额不足|额度不足|欠费",
    re.IGNORECASE,
)
_RIGHTS = lazy_pattern(
    r"(?:does not|doesn't) have (?:access to (?:the )?model|(?:sufficient )?permissions? to)|\bno[_ ]access\b"
    r"|not allowed to access (?:the |this )?model|model_access_denied|model_permission_blocked"
    r"|not available in your (?:current )?plan|not authorized to (?:access|use) (?:the|this) model",
    re.IGNORECASE,
)
_MODEL = lazy_pattern(
    r"\binvalid_model\b|invalid model(?: name| id|:)|\bmodel[ _]not[ _](?:found|exist)|not a valid model\b"
    r"|\bmodel (?:\S{1,100} )?(?:does not|doesn't) exist|\b(?:unknown|no such) model\b|模型不存在",
    re.IGNORECASE,
)
_KEY = lazy_pattern(
    r"api[_ -]?key (?:not (?:valid|found)|expired|(?:is )?(?:invalid|missing))|api_key_invalid"
    r"|(?:incorrect|invalid|wrong|missing)(?: or \w+)? (?:api[_ -]?key|authorization|credentials)"
    r"|no_db_connection|authentication (?:error|failed)",
    re.IGNORECASE,
)
_PATTERNS = (
    (Reason.COUNTRY, _COUNTRY, (400, 403)),
    (Reason.CONTENT, _CONTENT, (400, 403, 422)),
    (Reason.NO_CREDIT, _NO_CREDIT, (400, 401, 402, 403, 429)),
    (Reason.RIGHTS, _RIGHTS, (400, 401, 403)),
    (Reason.MODEL, _MODEL, (400, 422)),
    (Reason.KEY, _KEY, (400, 422)),
)
"""(reason, its words, the statuses that providers give it), the more precise reason first."""
_BY_STATUS = {401: Reason.KEY, 402: Reason.NO_CREDIT, 403: Reason.KEY}


def reason_of(status: int, body: object, words: str) -> Reason | None:
    """The reason of a refusal with this HTTP status and body, in the provider's `words`; None for all other reasons."""
    text = " ".join((*_codes(body, depth=4), words[:MAX_CHARS]))
    named = (reason for reason, pattern, statuses in _PATTERNS if status in statuses and pattern.search(text))
    return next(named, _BY_STATUS.get(status))


def _codes(body: object, *, depth: int) -> Iterator[str]:
    """The codes of an error, of the first one in a list."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict) or not depth:
        return
    yield from (code[:MAX_CHARS] for name in CODE_FIELDS if isinstance(code := body.get(name), str))
    for inner in ("error", "details", "errors", "metadata"):
        yield from _codes(body.get(inner), depth=depth - 1)
