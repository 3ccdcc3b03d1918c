"""The policy of a conversation: when it is compacted, and how much of it stays verbatim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, get_args

from compression.core.citation_values import Unsupported
from compression.core.context import FRAME_TOKENS
from compression.core.plan.tiers import tier_budget
from compression.core.values import MESSAGE_OVERHEAD, Usage, Window

Strategy = Literal["checkpoints", "rolling", "continuation", "truncate"]
"""The strategies of a compaction for the condensed messages.

`checkpoints`: a new summary beside the older ones. `rolling`: a new summary that takes in the earlier one.
`continuation`: one summary of the whole conversation, no recent message is kept. `truncate`: a note, without a model.
"""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MIN_THRESHOLD, MAX_THRESHOLD = 0.5, 0.95
DEFAULT_THRESHOLD = 0.8
"""The default share of the window that triggers a compaction."""
MIN_SLOPE = 0.1
"""The minimum distance between target and threshold, as a share of the window; without it each turn would compact."""
AHEAD_BY = 0.15
"""A summary is prepared ahead of time from this share of the window before a compaction is due."""
LOCAL_SHARE = 0.75
"""A local model's history is condensed once verbatim messages take more than this share of the window.

The share is of the window without the base instructions and LOCAL_REPLY_TOKENS.
"""
LOCAL_REPLY_TOKENS = 1_000
"""Tokens reserved for a local model's reply."""
MIN_HISTORY_TOKENS = 200
"""The smallest budget of history: room for a summary, its frame, and a few words."""
SUMMARY_SHARE, MIN_SUMMARIES, MAX_SUMMARIES = 0.3, 900, 16_000
"""The share of a request's room for all summaries together, within MIN_SUMMARIES and MAX_SUMMARIES tokens."""
MAX_SUMMARIES_SHARE = 0.25
"""The share of a small window for all summaries together, if MIN_SUMMARIES would be more."""
RECALL_SHARE, MAX_RECALL = 0.25, 6_000
"""The share of a request's room for recalled passages, up to MAX_RECALL of the model's tokens."""
MORE_RECALL = 1.5
LEAST_RECALL = 1 / 3
"""A compaction is due once recalled passages have less than this share of their room. Small windows need this: they are
full before their threshold."""
COMPACTED_SHARE = 1 / 3
"""Compacted messages take at most this share of their tokens in every later request, summaries and recall together."""
COVERED_SHARE, LEAST_NEW_SUMMARY = 1 / 5, 120
"""The maximum length of a new summary with its restored facts: this share of its messages' tokens, or 120 tokens."""
NEW_SUMMARY_SHARE, MIN_NEW_SUMMARY, MAX_NEW_SUMMARY = 1 / 16, 300, 3_000
"""The default length of a new summary: a share of a request's room, within these tokens."""
FLOW_SUMMARY_SHARE = 0.2
"""The default length of a new summary in a flow with its own budget: a share of that budget."""
MIN_SUMMARY_ROOM = 100
"""Tokens of a flow's own budget that its latest messages leave to its summaries at least."""

SummaryRequest = Literal["own", "conversation"]
"""The request for a summary: one of its `own` that quotes the messages, or, if that is cheaper, the `conversation`'s
own request, which the provider's cache has, with one more message."""
Reason = Literal["threshold", "live", "reply", "recall", "local", "flow"]
"""The limit that a growing request reaches first: the threshold (`live`: of `max_live_tokens`), the room for the reply
or for recalled passages, a local model's room for verbatim text, or a flow's own budget of history."""

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
    "economy": {"recall": False, "threshold": 0.95, "target_ratio": 0.4, "summary_request": "conversation"},
    "short": {
        "max_live_tokens": 6_800,
        "threshold": 0.7,
        "target_ratio": 0.15,
        "summary_share": 0.4,
        "recall_share": 0.3,
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
"""The policy values of each flow that differ from the settings.

A flow with its own budget is checked before each of its requests, which follow each other within seconds. A cooldown or
a minimum number of messages would let it exceed the budget; both are off. Nothing is
recalled for it: it has tools to search its history.

`short` is no flow: requests stay at about 7,000 tokens in any window, most of them summaries and recalled passages,
which keep more of the past a token than the latest messages do.

`economy` is no flow either: `max_live_tokens` come from the model's prices (`core.plan.economy`), few compactions are
wide apart, and passages, which no cache has, are not recalled.
"""


@dataclass(frozen=True, slots=True)
class Due:
    """The size of a request, in tokens, at which a compaction comes first, and the limit that this size reaches."""

    tokens: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class Policy:
    """When a conversation is compacted, and how much of it stays verbatim.

    Ratios are shares of the window, or of `max_live_tokens` if it is smaller. In that case requests are compacted as if
    the window had this size, without room for the reply; the window still decides which requests fit. `cooldown` is in
    seconds. `summary_max_tokens` limits every new summary with its restored facts; None means NEW_SUMMARY_SHARE, a
    length to ask for. `summary_share` and `recall_share` limit all summaries together and all recalled passages, as
    shares of a request's room: the window without the room for the reply. `recall_max_tokens` limits recalled passages
    in the model's tokens.
    `threshold` None means DEFAULT_THRESHOLD, and for a local model also LOCAL_SHARE; a named threshold is the only
    limit, for local models too. `keep_user_tokens` of a person's latest condensed messages stay verbatim. The smaller
    of `target_ratio` and `target_tokens` is the target. `level` (3 detailed, 2 moderate, 1 compact; None: by size),
    `summariser` (a model profile's name, or "extractive") and `prompt` (a template) replace the defaults.
    A flow with its own budget has `history_tokens`, counted as the model does: it is compacted when it exceeds them
    with more than `history_messages` verbatim messages, in a window of any size; protected messages do not count.
    If a summary keeps less than `min_retention` of the facts, the next summariser is tried and the better summary used.
    `recall`: for each new message, matching passages of the compacted part are quoted. `unsupported` is the treatment
    of a model's statements without support in the messages, `summary_request` the kind of request for a summary.
    """

    enabled: bool = True
    ahead: bool = True
    recall: bool = True
    strategy: Strategy = "checkpoints"
    threshold: float | None = None
    keep_recent: int = 4
    keep_user_tokens: int | Literal["all"] = 0
    min_messages: int = 3
    target_ratio: float = 0.4
    target_tokens: int | None = None
    max_live_tokens: int | None = None
    cooldown: int = 30
    summary_max_tokens: int | None = None
    summary_share: float = SUMMARY_SHARE
    recall_share: float = RECALL_SHARE
    recall_max_tokens: int = MAX_RECALL
    level: int | None = None
    summariser: str = ""
    prompt: str = ""
    min_retention: float = 0.0
    unsupported: Unsupported = "mark"
    summary_request: SummaryRequest = "own"
    history_tokens: int | None = None
    history_messages: int = 0

    @property
    def folds(self) -> bool:
        """Whether a new summary takes in the earlier ones, so that one summary covers all condensed messages."""
        return self.strategy in ("rolling", "continuation")

    @property
    def full_at(self) -> float:
        """The share of the window from which a compaction precedes the request."""
        return DEFAULT_THRESHOLD if self.threshold is None else self.threshold

    def bounded(self, window: Window) -> Window:
        """The window for ratios and shares: with `max_live_tokens`, at most this number.

        The reply reduces it only if the rest of the window has no room for it.
        """
        size = self.max_live_tokens
        if size is None or size >= window.size:
            return window
        return replace(window, size=size, reserve=max(0, size - window.budget))

    def lead(self, window: Window) -> float:
        """The tokens before a compaction is due at which its summary is prepared, and the page announces it."""
        return AHEAD_BY * self.bounded(window).size

    @property
    def recent(self) -> int:
        """The number of latest messages that stay verbatim."""
        return 0 if self.strategy == "continuation" else self.keep_recent

    @property
    def user_tokens(self) -> float:
        """Tokens of a person's latest condensed messages that stay verbatim; inf for all of them."""
        return inf if self.keep_user_tokens == "all" else self.keep_user_tokens

    @property
    def has_budget(self) -> bool:
        """Whether the policy belongs to a flow with its own budget of history."""
        return self.history_tokens is not None

    @property
    def min_reduction(self) -> int:
        """A summary must be this many times smaller than its messages; otherwise the compaction is skipped."""
        return 2 if self.has_budget else 3

    @property
    def without_model(self) -> Policy:
        """The policy for truncation without a model: a disabled flow keeps its latest `history_messages`."""
        return replace(self, keep_recent=self.history_messages) if self.has_budget and not self.enabled else self

    @property
    def keeps_to_target(self) -> bool:
        """Whether an automatic compaction keeps as many of the latest messages as the target has room for.

        A flow with its own budget keeps `keep_recent`, and a continuation keeps none.
        """
        return self.strategy != "continuation" and not self.has_budget

    def new_summary_tokens(self, window: Window) -> int:
        """The length asked of a new summary, in tokens by our own count, before the density of facts is known."""
        if self.summary_max_tokens is not None:
            return self.summary_max_tokens
        if self.history_tokens is not None:
            return int(FLOW_SUMMARY_SHARE * self.history_tokens)
        return int(min(max(NEW_SUMMARY_SHARE * self._usable(window), MIN_NEW_SUMMARY), MAX_NEW_SUMMARY))

    def recall_budget(self, window: Window, *, covered: int | None = None, summaries: int = 0, shares: int = 1) -> int:
        """The most tokens, by our own count, of passages that are recalled for one message.

        `shares` is how many times the recall share they may take. Several may also take MORE_RECALL times as many
        tokens, as other conversations are recalled too then.

        `covered` is the number of tokens of all compacted messages: `summaries` and passages together take at most
        COMPACTED_SHARE of it. None leaves that limit out.
        """
        if not self.recall:
            return 0
        tokens = self.recall_max_tokens * (MORE_RECALL if shares > 1 else 1)
        most = min(shares * self.recall_share * self._usable(window), tokens / window.correction)
        return int(most if covered is None else max(0.0, min(most, COMPACTED_SHARE * covered - summaries)))

    def max_new_summary_tokens(self, window: Window, covered: int) -> float:
        """The most tokens of a new summary of `covered` tokens of messages, if there is room.

        In a flow with its own budget it takes the asked length or a sixth of its messages: of 20 equal messages, 4 of
        them kept, a third of the tokens is left.
        """
        if self.has_budget:
            return max(self.new_summary_tokens(window), covered // 6)
        return min(max(COVERED_SHARE * covered, LEAST_NEW_SUMMARY), self.summary_max_tokens or inf)

    def target(self, window: Window) -> float:
        """The size, in the model's tokens, that a request should not exceed after a compaction."""
        ratio = min(self.target_ratio, self.full_at - MIN_SLOPE)
        return min(ratio * self.bounded(window).size, self.target_tokens or inf)

    def is_due(self, usage: Usage, *, messages: int = 0, local: bool = False) -> bool:
        """Whether a compaction should precede the next request, which has `messages` verbatim messages."""
        if not self.enabled:
            return usage.over_budget or self._exceeds_history_limits(usage, messages)
        full = usage.total >= self.full_at * self.bounded(usage.window).size or usage.over_budget
        full = full or usage.total >= self._due_for_recall(usage)
        outgrown = self.history(usage) > self._max_history(messages)
        return full or outgrown or usage.live + usage.protected > self._max_verbatim(usage.window, local)

    def due_at(self, usage: Usage, *, messages: int = 0, local: bool = False) -> Due:
        """The size of a request at which a compaction is due, if only its verbatim messages grow."""
        first = self._due_of_window(usage, local)
        own = Due(usage.total - self.history(usage) + self._max_history(messages), "flow")
        return min(first, own, key=lambda due: due.tokens)

    def is_near(self, usage: Usage, *, local: bool = False) -> bool:
        """Whether a summary should be prepared now, so that it is ready when a limit of the window is reached."""
        due = self._due_of_window(usage, local).tokens
        return self.enabled and self.ahead and usage.total >= due - self.lead(usage.window)

    def _due_of_window(self, usage: Usage, local: bool) -> Due:
        """The limit of the window that is reached first, without regard to a flow's own budget."""
        window, verbatim = usage.window, usage.live + usage.protected
        bounded = self.bounded(window)
        limits = (
            Due(self.full_at * bounded.size, "threshold" if bounded is window else "live"),
            Due(window.budget, "reply"),
            Due(self._due_for_recall(usage), "recall"),
            Due(usage.total - verbatim + self._max_verbatim(window, local), "local"),
        )
        return min(limits, key=lambda due: due.tokens)

    def _due_for_recall(self, usage: Usage) -> float:
        """The size of a request from which less than a third of the room for passages is left to them.

        inf if nothing is compacted yet, or the policy forbids recall.
        """
        if not usage.summary or not self.recall:
            return inf
        least = LEAST_RECALL * self.recall_budget(usage.window) * usage.window.correction
        return usage.window.budget - least + usage.recalled

    def context_budget(self, window: Window, *, verbatim: int = 0) -> int:
        """The most tokens, by our own count, that all summaries together may take, their frame included.

        In a flow with its own budget, the summaries have the tokens that its `verbatim` messages leave.
        """
        usable = self._usable(window)
        least = min(MIN_SUMMARIES, MAX_SUMMARIES_SHARE * usable)
        budget = int(min(max(self.summary_share * usable, least), MAX_SUMMARIES))
        if self.history_tokens is None:
            return budget
        left = self._own_budget(window) - MESSAGE_OVERHEAD - verbatim
        return min(budget, max(left, FRAME_TOKENS + MIN_SUMMARY_ROOM))

    def verbatim_budget(self, window: Window) -> float:
        """The most verbatim tokens (our count) that leave room for a flow's summaries; inf without a budget."""
        if self.history_tokens is None:
            return inf
        return self._own_budget(window) - MESSAGE_OVERHEAD - FRAME_TOKENS - MIN_SUMMARY_ROOM

    def history(self, usage: Usage) -> int:
        """The tokens of a request that count towards a flow's own budget: summaries and unprotected messages."""
        return usage.summary + usage.live

    def _own_budget(self, window: Window) -> int:
        """The flow's budget in our tokens, minus one: the summary and the messages are rounded up separately."""
        return int(((self.history_tokens or 1) - 1) / window.correction)

    def _max_history(self, messages: int) -> float:
        """The most tokens of history before a flow with `messages` verbatim ones is compacted; inf: no limit."""
        if self.history_tokens is None or messages <= self.history_messages:
            return inf
        return self.history_tokens

    def _exceeds_history_limits(self, usage: Usage, messages: int) -> bool:
        """Whether a flow without compaction exceeds its number of verbatim messages, or its budget of tokens."""
        if self.history_tokens is None:
            return False
        return messages > self.history_messages or self.history(usage) > self.history_tokens

    def _max_verbatim(self, window: Window, local: bool) -> float:
        """The most verbatim tokens of a local model's history; inf for other models or with a named threshold."""
        room = _local_room(self.bounded(window))
        return LOCAL_SHARE * room if local and self.threshold is None and room > 0 else inf

    def _usable(self, window: Window) -> float:
        """Tokens of a request, by our own count, that leave room for the reply."""
        return self.bounded(window).budget / window.correction


def _local_room(window: Window) -> int:
    """Tokens of the window that a local model has left for history, after its base instructions and a reply."""
    return window.size - tier_budget(window.size) - LOCAL_REPLY_TOKENS
