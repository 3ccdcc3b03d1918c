"""What a turn costs, the live tokens that cost least, and the turns after which a compaction has paid."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from compression.core.plan.economy import Compacting, Prices, cost_a_turn, max_live_tokens
from compression.core.plan.policy import PRESETS, Policy
from compression.core.values import Usage, Window

ECONOMY = Policy(**PRESETS["economy"])
USUAL = Prices(input=1, cached=0.1, output=4)
WHOLE = Window(1_000_000, 4_000)


def used(live: int, window: Window = WHOLE) -> Usage:
    return Usage(system=500, summary=200, protected=0, live=live, window=window)


def test_a_request_is_compacted_by_its_live_tokens_however_large_the_window() -> None:
    policy = Policy(max_live_tokens=10_000)
    assert not policy.is_due(used(7_299)) and policy.is_due(used(7_300))
    assert policy.due_at(used(7_299)).reason == "live" and policy.due_at(used(7_299)).tokens == 8_000
    assert policy.target(WHOLE) == 4_000 and policy.recall_budget(WHOLE) == 2_500
    assert policy.context_budget(WHOLE) == 3_000 and policy.new_summary_tokens(WHOLE) == 625
    assert policy.is_near(used(5_800)) and not policy.is_near(used(5_799))
    assert not used(500_000).over_budget, "what the model cannot read is told by its window"


def test_a_window_that_is_no_larger_is_taken_as_it_is() -> None:
    window = Window(10_000, 3_000)
    bounded, free = Policy(max_live_tokens=10_000), Policy()
    assert bounded.due_at(used(0, window)) == free.due_at(used(0, window))
    assert bounded.recall_budget(window) == free.recall_budget(window)
    assert Policy(max_live_tokens=9_000).context_budget(window) == free.context_budget(window), "the reply has its room"


def test_the_cost_of_a_turn_is_the_sum_that_the_docs_write_out() -> None:
    policy = replace(ECONOMY, summary_max_tokens=400)
    before, after = 9_500, 4_000
    cost = 0.1 * 4_000 * 9 + 0.1 * before + 4 * 400
    expected = 0.1 * (before + after) / 2 + 300 + 4 * 200 + cost * 300 / (before - after)
    assert cost_a_turn(10_000, USUAL, policy, WHOLE) == pytest.approx(expected)
    assert cost_a_turn(2_000, USUAL, policy, WHOLE) == inf, "a compaction would leave no room for a turn"


def test_the_picked_size_costs_little_more_than_the_cheapest_and_less_than_the_window() -> None:
    picked = max_live_tokens(USUAL, ECONOMY, WHOLE)
    assert picked is not None
    cheapest = min(cost_a_turn(size, USUAL, ECONOMY, WHOLE) for size in range(2_000, 100_000, 100))
    assert cost_a_turn(picked, USUAL, ECONOMY, WHOLE) <= 1.11 * cheapest < cost_a_turn(1_000_000, USUAL, ECONOMY, WHOLE)
    assert picked == max_live_tokens(USUAL, ECONOMY, Window(32_768, 1_000)), "windows that it fits do not matter"
    dear = max_live_tokens(replace(USUAL, cached=1), ECONOMY, WHOLE)
    assert dear is not None and dear < picked, "what is dear to read again is kept short"
    assert max_live_tokens(USUAL, ECONOMY, Window(4_096, 1_000)) is None
    assert max_live_tokens(Prices(0, 0, 0), ECONOMY, WHOLE) is None


def test_a_compaction_has_paid_once_its_turns_have_read_so_much_less() -> None:
    own = Compacting(before=10_000, after=4_000, summary=500, extends=False)
    assert own.cost(USUAL) == pytest.approx(6_000 + 4 * 500 + 0.9 * 4_000)
    assert own.break_even_turns(USUAL) == 20, "11,600 units, 600 a turn"
    assert replace(own, extends=True).break_even_turns(USUAL) == 11
    assert replace(own, after=10_000).break_even_turns(USUAL) is None
    assert own.break_even_turns(Prices(0, 0, 0)) is None
