"""Stage 6: checks that the new state may replace the old one."""

from __future__ import annotations

from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.text.summary_text import require_headings
from compression.core.values import MESSAGE_OVERHEAD, Draft


def validate(draft: Draft) -> Draft:
    """The draft, unchanged, if it may replace the old state; raises CompactionFailed otherwise.

    The summary must be complete, within its budget, and smaller than the messages and summaries that it replaces.
    """
    transcript = draft.transcript
    require_headings(draft.summary)
    replaced = draft.condensed_tokens + transcript.context_tokens
    if draft.context_tokens >= replaced:
        reason = f"{draft.context_tokens} tokens would replace {replaced}: nothing is saved"
        raise CompactionFailed("validate", reason, code=ErrorCode.TOO_LONG)
    limit = draft.room + MESSAGE_OVERHEAD
    if draft.context_tokens > limit:
        overage = draft.context_tokens - limit
        reason = f"the summary is {overage} tokens over its limit of {limit}"
        raise CompactionFailed("validate", reason, code=ErrorCode.TOO_LONG)
    if transcript.cut and draft.cut and draft.cut < transcript.cut:
        raise CompactionFailed("validate", "the cut would move backwards")
    return draft
