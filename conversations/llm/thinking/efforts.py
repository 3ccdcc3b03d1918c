"""Efforts of thinking before an answer, and the tokens that they take from a reply's limit."""

from __future__ import annotations

EFFORTS = ("none", "low", "medium", "high")
THINKING_BUDGET = {"low": 4_096, "medium": 12_288, "high": 32_768}
"""Tokens added to a reply's limit for the thoughts before it, by effort: they count towards the limit."""


def room_for(effort: str) -> int:
    """The tokens that thoughts of this effort may take; 0 without any."""
    return THINKING_BUDGET.get(effort, 0)


def for_errands(effort: str) -> str:
    """The effort for the site's own short texts, titles and summaries: low, if replies have a higher one."""
    return "low" if effort in ("medium", "high") else effort
