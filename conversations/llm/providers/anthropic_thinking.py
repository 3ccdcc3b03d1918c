"""Anthropic's options for how long a model thinks; models differ in which of them they accept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from conversations.llm.providers import reply_lengths
from conversations.llm.providers.dialects import Dialect
from conversations.llm.thinking.efforts import room_for
from conversations.models.model_profile import REPLY_TOKENS

THINKING_TOKENS = 4_096
"""Tokens added to the reply's limit for a model that always thinks: its thoughts count towards `max_tokens`."""
_UNKNOWN = re.compile(
    r"(?:^|['\"])thinking: extra inputs|key \[thinking\]|not support thinking(?! type)"
    r"|unknown (?:field|name|parameter|argument)\W{1,4}thinking\b",
    re.IGNORECASE,
)
"""The words of a server that knows no option about thinking, of whichever type."""
LEAST_BUDGET = 1_024
"""The smallest budget of thoughts that the API accepts."""


class Thinking(StrEnum):
    """The option that makes a model answer without thinking first; models differ in which of these they accept."""

    DISABLED = "disabled"
    BETWEEN_TOOLS = "between_tools"
    LITTLE = "little"
    UNSAID = "unsaid"

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        limit = max_tokens or REPLY_TOKENS
        if self is Thinking.LITTLE:
            return {
                "max_tokens": reply_lengths.smallest(limit + THINKING_TOKENS, most),
                "output_config": {"effort": "low"},
            }
        thinking = {} if self is Thinking.UNSAID else {"thinking": {"type": self.value}}
        return {"max_tokens": limit} | thinking

    def corrected(self, complaint: str) -> Thinking | None:
        if not _is_about_thinking(complaint):
            return None
        if self in (Thinking.DISABLED, Thinking.BETWEEN_TOOLS) and _UNKNOWN.search(complaint):
            return Thinking.UNSAID
        ways = list(Thinking)
        return next(iter(ways[ways.index(self) + 1 :]), None)

    @classmethod
    def first(cls, model: str) -> Thinking:
        ways = (way for start, way in FIRST_DIALECTS.items() if model.startswith(start))
        return next(ways, cls.DISABLED)


FIRST_DIALECTS = {
    "claude-sonnet-5-5": Thinking.BETWEEN_TOOLS,
    "claude-opus-5-5": Thinking.LITTLE,
    "claude-fable": Thinking.LITTLE,
    "claude-mythos": Thinking.LITTLE,
}
"""The first dialect for models that refuse DISABLED, by the beginning of their ids; others reveal it by an error."""
BUDGETED = (
    *("claude-3", "claude-sonnet-4-0", "claude-sonnet-4-2", "claude-sonnet-4-5", "claude-haiku-4-5"),
    *("claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2", "claude-opus-4-5"),
)
"""Models that think by a budget of tokens, by the beginning of their ids; later ones by themselves, up to an effort."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The options that make a model think first: by itself up to an effort, or within a budget of tokens.

    After a refusal comes the other way, then `plain`.
    """

    effort: str
    by_budget: bool
    plain: Thinking
    is_last: bool = False

    @classmethod
    def first(cls, model: str, effort: str) -> Effort:
        return cls(effort, model.startswith(BUDGETED), Thinking.first(model))

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        limit = max_tokens or REPLY_TOKENS
        total = reply_lengths.smallest(limit + room_for(self.effort), most) or limit
        if not self.by_budget:
            thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
            return {"max_tokens": total, "thinking": thinking, "output_config": {"effort": self.effort}}
        budget = min(room_for(self.effort), total - min(limit, total // 2))
        if budget < LEAST_BUDGET:  # there is no room to think in
            return self.plain.options(max_tokens, most)
        return {"max_tokens": total, "thinking": {"type": "enabled", "budget_tokens": budget}}

    def corrected(self, complaint: str) -> Dialect | None:
        if not _is_about_thinking(complaint):
            return None
        if _UNKNOWN.search(complaint):
            return Thinking.UNSAID
        return self.plain if self.is_last else Effort(self.effort, not self.by_budget, self.plain, is_last=True)


def _is_about_thinking(complaint: str) -> bool:
    return any(word in complaint for word in ("thinking", "output_config", "effort"))
