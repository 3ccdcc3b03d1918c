"""Calculates a conversation's costs at its model's prices: the cheapest number of live tokens, and the turns until a
compaction has paid."""

from __future__ import annotations

from dataclasses import replace

from compression.core.plan.economy import Compacting, Prices, max_live_tokens
from compression.core.plan.policy import Policy
from compression.core.values import Window
from conversations.context.head import Head
from conversations.models import ModelProfile

ECONOMY = "economy"
"""The preset whose `max_live_tokens` come from the model's prices."""


def prices_of(priced: Head | ModelProfile) -> Prices | None:
    """A model's prices; None if it has not both of input and output. Without a price of its own, cached input costs
    as much as other input.
    """
    if priced.price_input is None or priced.price_output is None:
        return None
    cached = priced.price_input if priced.price_cached is None else priced.price_cached
    return Prices(float(priced.price_input), float(cached), float(priced.price_output))


def economical(policy: Policy, prices: Prices | None, window: Window | None) -> Policy:
    """The policy with the live tokens that cost least at these prices; unchanged without prices or a window."""
    if prices is None or window is None:
        return policy
    return replace(policy, max_live_tokens=max_live_tokens(prices, replace(policy, max_live_tokens=None), window))


def break_even_turns(head: Head, policy: Policy, *, due: float) -> int | None:
    """The turns after which a compaction at `due` tokens has paid for itself; None without prices, or if it never has.

    It is taken to come out at the target, and its summary to be written by the conversation's own model.
    """
    prices, window = prices_of(head), head.window
    if prices is None or window is None:
        return None
    summary = window.corrected(policy.new_summary_tokens(window))
    after = policy.target(window)
    return Compacting(due, after, summary, extends=policy.summary_request == "conversation").break_even_turns(prices)
