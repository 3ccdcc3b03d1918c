"""Where a compaction is due, for models on one's own machine too; and from where on its summary is prepared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compression.core.plan.policy import AHEAD_BY, Policy
from compression.core.values import Usage, Window

LOCAL = [(3_481, 870), (6_963, 1_000), (13_926, 1_000), (27_852, 1_000)]
"""Usable windows and reserves of local models of 4,096 to 32,768 tokens."""


def used(live: int, size: int = 6_963, reserve: int = 1_000) -> Usage:
    return Usage(system=300, summary=0, protected=0, live=live, window=Window(size, reserve))


@pytest.mark.parametrize(("size", "reserve"), LOCAL)
def test_a_local_model_without_a_threshold_is_due_where_its_room_is_three_quarters_full(
    size: int, reserve: int
) -> None:
    due = Policy().due_at(used(0, size, reserve), local=True)
    assert due.reason == "local"
    assert due.tokens < 0.8 * size
    assert Policy().due_at(used(0, size, reserve)).reason != "local"


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8])
@pytest.mark.parametrize(("size", "reserve"), LOCAL[1:])
def test_a_threshold_that_is_named_holds_for_local_models_as_for_any(threshold: float, size: int, reserve: int) -> None:
    policy = Policy(threshold=threshold)
    for local in (True, False):
        assert policy.due_at(used(0, size, reserve), local=local).tokens == pytest.approx(threshold * size)
        below, beyond = int(threshold * size) - 310, int(threshold * size) - 290
        assert not policy.is_due(used(below, size, reserve), local=local)
        assert policy.is_due(used(beyond, size, reserve), local=local)


def test_recalled_passages_keep_a_third_of_their_room_in_a_window_that_is_full_before_its_threshold() -> None:
    """A request of 4,096 tokens less 1,000 for the reply never reaches the threshold of .8."""
    window = Window(4_096, 1_000)
    compacted = Usage(system=0, summary=700, protected=0, live=2_200, window=window)
    due = Policy().due_at(compacted)
    assert (int(due.tokens), due.reason) == (2_838, "recall")  # a third of 774 is free
    assert not Policy().is_due(replace(compacted, live=int(due.tokens) - 701))
    assert Policy().is_due(replace(compacted, live=int(due.tokens) - 699))
    assert not Policy().is_due(replace(compacted, live=int(due.tokens) - 701, recalled=150)), "passages are no messages"
    for other in (Policy(recall=False).due_at(compacted), Policy().due_at(replace(compacted, summary=0))):
        assert (other.tokens, other.reason) == (3_096, "reply")


def test_the_room_for_the_reply_is_kept_whatever_the_threshold() -> None:
    due = Policy(threshold=0.95).due_at(used(0), local=True)
    assert (due.tokens, due.reason) == (5_963, "reply")


@pytest.mark.parametrize(("size", "reserve"), LOCAL)
@pytest.mark.parametrize("threshold", [None, 0.7])
@pytest.mark.parametrize("local", [True, False])
def test_a_summary_is_prepared_from_the_same_share_of_the_window_before_whatever_is_first(
    size: int, reserve: int, threshold: float | None, local: bool
) -> None:
    policy = Policy(threshold=threshold)
    near = int(policy.due_at(used(0, size, reserve), local=local).tokens - AHEAD_BY * size) - 300
    assert not policy.is_near(used(near - 2, size, reserve), local=local)
    assert policy.is_near(used(near + 2, size, reserve), local=local)
    assert not policy.is_due(used(near + 2, size, reserve), local=local)
