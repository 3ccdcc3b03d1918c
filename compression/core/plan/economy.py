"""The cost of a conversation's turns at a provider that caches, and the live tokens at which they cost least.

A turn is paid thrice: all that the conversation has so far is read again, at the price of cached input; what the turn
adds is read once at the full price, and its reply written. A compaction makes the first part cheaper and costs
something itself: its summary is written, and the request after it, which begins anew, is read at the full price. Where
the summary is asked for in a request of its own, what it condenses is read at the full price too; where it is asked for
at the end of the conversation's own request, all of that is cached. The less is live, the less each turn reads, and the
fewer turns pay for a compaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf

from compression.core.plan.policy import Policy
from compression.core.values import Window

QUESTION_TOKENS, REPLY_TOKENS = 100, 200
"""The tokens of a usual turn, for a conversation whose own turns are unknown."""
HEAD_TOKENS = 2_500
"""Tokens of a request that no compaction takes away: system prompt, tools, summaries and the latest messages."""
MIN_PICKED = 4_000
"""The least `max_live_tokens` that are picked."""
TOLERANCE = 0.1
"""The optimum is flat: of all sizes whose turns cost at most so much more than the cheapest, the largest is picked,
with which the most stays verbatim."""
STEP = 1.05
"""The ratio of two sizes that are compared."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of a token of uncached input, of cached input and of output, in any currency."""

    input: float
    cached: float
    output: float


@dataclass(frozen=True, slots=True)
class Compacting:
    """One compaction: the request before and after it, the tokens of its summary, and whether its request extends the
    conversation's own. All of the request before is in the cache by then.
    """

    before: float
    after: float
    summary: float
    extends: bool

    def cost(self, prices: Prices) -> float:
        """The cost beyond the turns that go on without it: its own request, and the next one that begins anew."""
        condensed = max(0.0, self.before - self.after)
        reading = prices.cached * self.before if self.extends else prices.input * condensed
        return reading + prices.output * self.summary + (prices.input - prices.cached) * self.after

    def break_even_turns(self, prices: Prices) -> int | None:
        """The turns after which it has paid for itself, as each of them reads less; None: never, or nothing costs."""
        saved_a_turn = prices.cached * (self.before - self.after)
        return ceil(self.cost(prices) / saved_a_turn) if saved_a_turn > 0 else None


def cost_a_turn(max_live: int, prices: Prices, policy: Policy, window: Window) -> float:
    """The average cost of a usual turn with `max_live` tokens; inf where a compaction leaves no room for one.

    Between two compactions a request grows from `after` to `before` by what turns add, so it reads half of their sum
    from the cache; a compaction is paid by the turns between two.
    """
    policy = replace(policy, max_live_tokens=max_live)
    before = policy.full_at * policy.bounded(window).size
    after = max(policy.target(window), HEAD_TOKENS)
    added = QUESTION_TOKENS + REPLY_TOKENS
    turns = (before - after) / added
    if turns < 1:
        return inf
    summary = window.corrected(policy.new_summary_tokens(window))
    compacting = Compacting(before, after, summary, extends=policy.summary_request == "conversation")
    every_turn = prices.cached * (before + after) / 2 + prices.input * added + prices.output * REPLY_TOKENS
    return every_turn + compacting.cost(prices) / turns


@lru_cache(maxsize=256)
def max_live_tokens(prices: Prices, policy: Policy, window: Window) -> int | None:
    """The `max_live_tokens` whose turns cost least, or nearly so; None: the whole window does, or nothing costs."""
    if prices.input <= 0:
        return None
    costs = {size: cost_a_turn(size, prices, policy, window) for size in _sizes(window.size)}
    least = min(costs.values(), default=inf)
    if least == inf:
        return None
    picked = max(size for size, cost in costs.items() if cost <= (1 + TOLERANCE) * least)
    return picked if picked < window.size else None


def _sizes(window: int) -> Iterator[int]:
    """The sizes that are compared, in whole hundreds: from MIN_PICKED on in steps of STEP, and the whole window."""
    size = float(MIN_PICKED)
    while size < window:
        yield 100 * round(size / 100)
        size *= STEP
    yield window
