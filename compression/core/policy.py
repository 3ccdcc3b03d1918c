"""When to compress, and how much to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from compression.core.tiers import tier_budget
from compression.core.values import Usage, Window

Strategy = Literal["checkpoints", "rolling", "continuation", "truncate"]
"""A new summary beside the older ones, one folded again each time, one of everything, a note without a model."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MIN_THRESHOLD, MAX_THRESHOLD = 0.5, 0.95
LOCAL_SHARE = 0.75
"""Of what a local model has beside its instructions and a reply: verbatim text beyond it is condensed."""
LOCAL_REPLY = 1_000


@dataclass(frozen=True, slots=True)
class Policy:
    """Ratios are of the window, `cooldown` is in seconds, `summary_max_tokens` what a summary is asked to keep to.

    A summary that keeps less than `min_retention` of the facts has the next summariser tried; the better one is taken.
    """

    enabled: bool = True
    threshold: float = 0.8
    keep_recent: int = 4
    min_messages: int = 3
    target_ratio: float = 0.5
    cooldown: int = 30
    summary_max_tokens: int = 500
    min_retention: float = 0.0
    strategy: Strategy = "checkpoints"

    @property
    def folds(self) -> bool:
        """Whether a new summary takes in the earlier ones, so that a single one stands for all that was condensed."""
        return self.strategy in ("rolling", "continuation")

    @property
    def recent(self) -> int:
        """How many of the latest messages stay."""
        return 0 if self.strategy == "continuation" else self.keep_recent

    def is_due(self, usage: Usage, *, local: bool = False) -> bool:
        """Whether the next request should be preceded by a compaction."""
        return usage.ratio >= self.threshold or usage.over_budget or (local and self._crowds_local(usage))

    def context_budget(self, window: Window, system_tokens: int) -> int:
        """The most tokens that all summaries together may take."""
        spare = tier_budget(window.size) - system_tokens
        return max(spare, min(window.size // 8, 4 * self.summary_max_tokens))

    def _crowds_local(self, usage: Usage) -> bool:
        room = usage.window.size - tier_budget(usage.window.size) - LOCAL_REPLY
        return room > 0 and usage.live + usage.protected > LOCAL_SHARE * room
