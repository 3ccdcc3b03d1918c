"""When it compresses, and how far a model can be trusted after."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from compression.core.plan.policy import PRESETS, Policy
from compression.core.reliability import reliability, warns_after
from compression.core.values import Usage, Window

WINDOW = Window(100_000, 1_000)


def used(live: int) -> Usage:
    return Usage(system=500, summary=200, protected=0, live=live, window=WINDOW)


@pytest.mark.parametrize(
    ("preset", "messages", "live", "due"),
    [
        ("chat", 400, 5_000, False),
        ("planner", 11, 2_301, True),
        ("planner", 11, 2_300, False),
        ("planner", 10, 9_000, False),
        ("executor", 6, 401, True),
        ("executor", 6, 400, False),
        ("executor", 5, 5_000, False),
    ],
)
def test_a_flow_outgrows_its_own_history_however_large_the_window(
    preset: str, messages: int, live: int, due: bool
) -> None:
    assert Policy(**PRESETS[preset]).is_due(used(live), messages=messages) is due


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_a_chat_is_due_at_its_threshold_and_not_a_token_before(threshold: float) -> None:
    policy = Policy(threshold=threshold)
    at = round(threshold * WINDOW.size) - used(0).total
    assert used(at).total == threshold * WINDOW.size
    assert policy.is_due(used(at))
    assert not policy.is_due(used(at - 1))


def test_a_chat_is_due_once_a_request_does_not_fit_and_not_where_it_just_does() -> None:
    policy, narrow = Policy(threshold=0.95), Window(10_000, 2_500)
    full = Usage(system=700, summary=0, protected=0, live=narrow.budget - 700, window=narrow)
    assert full.total == narrow.budget
    assert not full.over_budget and not policy.is_due(full)
    over = replace(full, live=full.live + 1)
    assert over.over_budget and policy.is_due(over)


def test_the_smaller_target_counts() -> None:
    assert Policy().target(WINDOW) == 40_000
    assert Policy(target_tokens=8_000).target(WINDOW) == 8_000
    assert Policy(target_tokens=80_000).target(WINDOW) == 40_000


@pytest.mark.parametrize(
    ("parameters", "is_local", "trust"),
    [
        (70, True, 0.95),
        (69.9, False, 0.85),
        (13, True, 0.7),
        (8, True, 0.5),
        (0.135, True, 0.3),
        (None, False, 0.95),
        (None, True, 0.5),
    ],
)
def test_trust_begins_with_the_size_and_shrinks_with_each_fold(
    parameters: float | None, is_local: bool, trust: float
) -> None:
    assert reliability(parameters, is_local=is_local, compactions=0) == pytest.approx(trust)
    assert reliability(parameters, is_local=is_local, compactions=3) == pytest.approx(trust * 0.729)


@pytest.mark.parametrize(("parameters", "count"), [(3, 3), (3.1, 5), (7, 5), (13, 7), (14, 10), (None, 5)])
def test_small_models_are_warned_of_sooner(parameters: float | None, count: int) -> None:
    assert warns_after(parameters) == count


@pytest.mark.parametrize("preset", ["chat", "planner"])
@pytest.mark.parametrize("local", [True, False])
def test_the_tokens_that_it_says_it_is_due_at_are_those_that_make_it_due(preset: str, local: bool) -> None:
    policy, window = Policy(**PRESETS[preset]), Window(6_800, 1_000)
    empty = Usage(system=500, summary=200, protected=0, live=0, window=window)
    due = ceil(policy.due_at(empty, messages=11, local=local).tokens)
    for live, expected in ((due + 1, True), (due - 1, False)):
        usage = replace(empty, live=live - empty.total)
        assert policy.is_due(usage, messages=11, local=local) is expected, due
        assert policy.due_at(usage, messages=11, local=local).tokens == pytest.approx(due, abs=1)
    assert local is False or due < 0.8 * window.size, "a local model has less room for what was said"


@pytest.mark.parametrize("threshold", [0.5, 0.55, 0.8])
def test_a_compaction_comes_out_below_the_threshold(threshold: float) -> None:
    policy = Policy(threshold=threshold, target_ratio=0.5)
    assert policy.target(WINDOW) == pytest.approx(min(0.5, threshold - 0.1) * WINDOW.size)


@pytest.mark.parametrize("size", [16_384, 65_536, 200_000])
def test_short_requests_are_compacted_alike_in_every_window(size: int) -> None:
    short, window = Policy(**PRESETS["short"]), Window(size, 1_000)
    assert short.bounded(window).size == 6_800
    full, free = (Usage(system=0, summary=0, protected=0, live=live, window=window) for live in (4_800, 4_700))
    assert short.is_due(full, messages=9) and not short.is_due(free, messages=9)
    assert short.target(window) == pytest.approx(1_020)
    assert (short.context_budget(window), short.recall_budget(window)) == (2_720, 2_040)
