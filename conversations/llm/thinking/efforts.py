"""Efforts of thinking before an answer, their tokens of a reply's limit, and models that think unasked."""

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


_thinkers: set[tuple[str, str]] = set()


def learn_thinking(base_url: str, model: str) -> None:
    """Remember that a server's model thinks without an effort, for this process."""
    _thinkers.add((base_url, model))


def unasked_room(base_url: str, model: str) -> int:
    """The tokens for the thoughts of a model that is asked without an effort; 0 if none were seen yet."""
    return room_for("low") if (base_url, model) in _thinkers else 0
