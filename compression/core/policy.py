"""When to compress, and how much to keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, get_args

from compression.core.context import FRAME_TOKENS
from compression.core.tiers import tier_budget
from compression.core.values import MESSAGE_OVERHEAD, Usage, Window

Strategy = Literal["checkpoints", "rolling", "continuation", "truncate"]
"""A new summary beside the older ones, one folded again each time, one of everything, a note without a model."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MIN_THRESHOLD, MAX_THRESHOLD = 0.5, 0.95
DEFAULT_THRESHOLD = 0.8
"""Of the window, where no setting and no policy names another."""
AHEAD_BY = 0.15
"""Of the window, before a compaction is due."""
LOCAL_SHARE = 0.75
"""Of what a local model has beside its instructions and a reply: verbatim text beyond it is condensed."""
LOCAL_REPLY = 1_000
MIN_HISTORY_TOKENS = 200
"""The least that a budget of history can be: a summary, its frame, and a few words."""
LEFT_FOR_SUMMARY = 100
"""Tokens of a flow's own budget of history that its latest messages leave at least to what its summaries say."""

Reason = Literal["threshold", "reply", "local", "flow"]
"""The limit that a request meets first: the threshold, the room for the reply, a local model's room for verbatim text,
or a flow's own budget of history."""

PRESETS: dict[str, dict[str, Any]] = {
    "chat": {},
    "planner": {
        "recall": False,
        "history_tokens": 2_500,
        "history_messages": 10,
        "keep_recent": 4,
        "min_messages": 1,
        "cooldown": 0,
    },
    "executor": {
        "recall": False,
        "history_tokens": 600,
        "history_messages": 5,
        "keep_recent": 4,
        "min_messages": 1,
        "cooldown": 0,
        "summary_max_tokens": 100,
    },
}
"""What a flow wants otherwise than the settings have it.

A flow with a budget of its own is looked at before each request, of which several follow within seconds: a pause, or a
least number of messages, would have it go beyond. Nothing is recalled for it: it has tools to look in its history.
"""


@dataclass(frozen=True, slots=True)
class Due:
    """The `tokens` of a request beyond which it is preceded by a compaction, and which limit that is."""

    tokens: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class Policy:
    """Ratios are of the window, `cooldown` is in seconds, `summary_max_tokens` what a summary is asked to keep to.

    `threshold` is None where nobody names one: then it is DEFAULT_THRESHOLD, and a local model's verbatim text is
    condensed from LOCAL_SHARE of its room on. A threshold that is named stands alone, for local models too.
    `keep_user_tokens` of a person's latest condensed messages stay verbatim. `target_tokens` is a target beside
    `target_ratio`: the smaller one counts. `level` (3 detailed, 2 moderate, 1 compact; None: by size), `summariser`
    (a model profile's name, or "extractive") and `prompt` (a template) take the place of what is chosen otherwise.
    A flow with a budget of its own has `history_tokens`, as the model counts them: beyond them, and with more than
    `history_messages` verbatim, it is compressed however large the window. Protected messages stand beside it. A
    summary that keeps less than `min_retention` of the facts has the next summariser tried; the better one is taken.
    `recall` has passages of what was condensed quoted for each new message, as far as they bear on it.
    """

    enabled: bool = True
    ahead: bool = True
    recall: bool = True
    strategy: Strategy = "checkpoints"
    threshold: float | None = None
    keep_recent: int = 4
    keep_user_tokens: int | Literal["all"] = 0
    min_messages: int = 3
    target_ratio: float = 0.5
    target_tokens: int | None = None
    cooldown: int = 30
    summary_max_tokens: int = 500
    level: int | None = None
    summariser: str = ""
    prompt: str = ""
    min_retention: float = 0.0
    history_tokens: int | None = None
    history_messages: int = 0

    @property
    def folds(self) -> bool:
        """Whether a new summary takes in the earlier ones, so that a single one stands for all that was condensed."""
        return self.strategy in ("rolling", "continuation")

    @property
    def full_at(self) -> float:
        """The share of the window from which a request is preceded by a compaction."""
        return DEFAULT_THRESHOLD if self.threshold is None else self.threshold

    @property
    def recent(self) -> int:
        """How many of the latest messages stay."""
        return 0 if self.strategy == "continuation" else self.keep_recent

    @property
    def user_tokens(self) -> float:
        """How much of a person's own condensed words stays verbatim, in tokens."""
        return inf if self.keep_user_tokens == "all" else self.keep_user_tokens

    @property
    def has_budget(self) -> bool:
        """Whether it is that of a flow with a budget of its own."""
        return self.history_tokens is not None

    @property
    def least_reduction(self) -> int:
        """Times that a summary must be smaller than the messages that it condenses, or there is none."""
        return 2 if self.has_budget else 3

    @property
    def without_model(self) -> Policy:
        """What holds where it is not enabled: a flow keeps its last messages, as many as its budget has room for."""
        return replace(self, keep_recent=self.history_messages) if self.has_budget and not self.enabled else self

    def most_of_summary(self, condensed: int) -> float:
        """Tokens that a new summary of messages of so many `condensed` ones may take, whatever room there is.

        A flow's takes what is asked for, or a sixth: of 20 even messages, of which it keeps 4, that leaves a third.
        """
        return max(self.summary_max_tokens, condensed // 6) if self.has_budget else inf

    def target(self, window: Window) -> float:
        """Tokens, as the model counts them, that a request should come out at or under."""
        return min(self.target_ratio * window.size, self.target_tokens or inf)

    def is_due(self, usage: Usage, *, messages: int = 0, local: bool = False) -> bool:
        """Whether the next request, with `messages` verbatim ones in it, should be preceded by a compaction."""
        if not self.enabled:
            return usage.over_budget or self._is_beyond_its_last(usage, messages)
        full = usage.ratio >= self.full_at or usage.over_budget
        outgrown = self.history(usage) > self._most_history(messages)
        return full or outgrown or usage.live + usage.protected > self._most_verbatim(usage.window, local)

    def due_at(self, usage: Usage, *, messages: int = 0, local: bool = False) -> Due:
        """Where it is due, if nothing but its verbatim messages grows."""
        first = self._due_of_window(usage, local)
        own = Due(usage.total - self.history(usage) + self._most_history(messages), "flow")
        return min(first, own, key=lambda due: due.tokens)

    def is_near(self, usage: Usage, *, local: bool = False) -> bool:
        """Whether a summary should be prepared by now, to be ready when one of the window's limits is reached."""
        due = self._due_of_window(usage, local).tokens
        return self.enabled and self.ahead and usage.total >= due - AHEAD_BY * usage.window.size

    def _due_of_window(self, usage: Usage, local: bool) -> Due:
        """The first of the limits that come of the window, whatever the flow."""
        window, said = usage.window, usage.live + usage.protected
        limits = (
            Due(self.full_at * window.size, "threshold"),
            Due(window.budget, "reply"),
            Due(usage.total - said + self._most_verbatim(window, local), "local"),
        )
        return min(limits, key=lambda due: due.tokens)

    def context_budget(self, window: Window, system_tokens: int, *, verbatim: int = 0) -> int:
        """The most tokens that all summaries together may take, their frame included.

        Of a flow's own budget that is what the `verbatim` tokens of its messages leave.
        """
        spare = tier_budget(window.size) - system_tokens
        budget = max(spare, min(window.size // 8, 4 * self.summary_max_tokens))
        if self.history_tokens is None:
            return budget
        left = self._room(window) - MESSAGE_OVERHEAD - verbatim
        return min(budget, max(left, FRAME_TOKENS + LEFT_FOR_SUMMARY))

    def verbatim_budget(self, window: Window) -> float:
        """The most tokens of messages, by our own count, that leave a flow's summaries their room; inf without one."""
        if self.history_tokens is None:
            return inf
        return self._room(window) - MESSAGE_OVERHEAD - FRAME_TOKENS - LEFT_FOR_SUMMARY

    def history(self, usage: Usage) -> int:
        """The tokens of a request that count towards a flow's own budget: what can be condensed, and what was."""
        return usage.summary + usage.live

    def _room(self, window: Window) -> int:
        """A flow's own budget, by our own count. Less one, as summary and messages are rounded up, each of them."""
        return int(((self.history_tokens or 1) - 1) / window.correction)

    def _most_history(self, messages: int) -> float:
        """The tokens of history beyond which a flow of so many messages is compressed; inf for any other."""
        if self.history_tokens is None or messages <= self.history_messages:
            return inf
        return self.history_tokens

    def _is_beyond_its_last(self, usage: Usage, messages: int) -> bool:
        """Whether a flow of which nothing is summarised holds more than its last messages, or than its budget."""
        if self.history_tokens is None:
            return False
        return messages > self.history_messages or self.history(usage) > self.history_tokens

    def _most_verbatim(self, window: Window, local: bool) -> float:
        """The verbatim tokens beyond which a local model's history is condensed; inf where a threshold is named."""
        room = _local_room(window)
        return LOCAL_SHARE * room if local and self.threshold is None and room > 0 else inf


def _local_room(window: Window) -> int:
    """What a local model has beside its instructions and a reply, in tokens."""
    return window.size - tier_budget(window.size) - LOCAL_REPLY
