"""How hard a model is asked to think before it answers, and what that takes of a reply's limit."""

from __future__ import annotations

EFFORTS = ("none", "low", "medium", "high")
THINKING_BUDGET = {"low": 4_096, "medium": 12_288, "high": 32_768}
"""Tokens added to a reply's limit for the thoughts before it, by effort: they count towards the limit."""


def room_for(effort: str) -> int:
    """The tokens that thoughts of this effort may take; 0 without any."""
    return THINKING_BUDGET.get(effort, 0)


def for_errands(effort: str) -> str:
    """The effort for short texts of the site itself, such as titles and summaries: little, where replies have much."""
    return "low" if effort in ("medium", "high") else effort
