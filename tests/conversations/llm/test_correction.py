from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given
from hypothesis import strategies as st

from compression.core.tokens import count_tokens
from conversations.llm.token_correction import (
    MAX_OWNERS,
    agreed_correction,
    believed,
    far_reports,
    updated,
    with_report,
)
from conversations.models import ModelProfile
from conversations.requests import usage
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once


def test_a_report_moves_the_correction_a_fifth_of_the_way():
    assert updated(1.25, estimated=1_000, reported=1_500) == 1.3
    assert updated(1.25, estimated=1_000, reported=1_000) == 1.2


def test_a_report_at_the_bounds_still_counts():
    assert updated(1.0, estimated=1_000, reported=2_000) == 1.2
    assert updated(1.0, estimated=1_000, reported=500) == 0.9


def test_a_report_outside_half_to_twice_the_estimate_is_ignored():
    assert updated(1.25, estimated=1_000, reported=2_001) == 1.25
    assert updated(1.25, estimated=1_000, reported=499) == 1.25
    assert updated(1.25, estimated=0, reported=0) == 1.25
    assert updated(1.25, estimated=-4, reported=-4) == 1.25


def test_it_settles_at_what_a_provider_keeps_reporting():
    correction = 1.25
    for _ in range(40):
        correction = updated(correction, estimated=10_000, reported=10_830)
    assert abs(correction - 1.083) < 0.001


@given(st.floats(0.5, 2.0), st.integers(-10, 10**9), st.integers(-10, 10**9))
def test_no_report_leads_out_of_half_to_twice(correction, estimated, reported):
    assert 0.5 <= updated(correction, estimated=estimated, reported=reported) <= 2.0


def after(calls: Iterable[tuple[int, float]], *, correction: float) -> float:
    """The correction after reports of people (by number) that their requests took so many times our count."""
    reports: list[list[float]] = []
    for owner_id, factor in calls:
        reports = with_report(reports, owner_id, correction, estimated=1_000, reported=round(1_000 * factor))
        correction = agreed_correction(correction, [average for _, average in reports])
    return correction


def test_one_person_alone_teaches_the_correction():
    assert abs(after([(1, 0.76)] * 40, correction=1.25) - 0.76) < 0.001


def test_one_person_s_calls_do_not_move_it_for_another():
    taught = after([(1, 0.76)] * 40, correction=1.25)
    assert after([(1, 0.76)] * 40 + [(2, 1.99)] * 500, correction=1.25) == taught


def test_of_many_people_the_median_counts():
    calls = [(owner, 0.9 + owner / 100) for owner in range(1, 6)] * 60
    settled = after(calls, correction=1.25)
    assert abs(settled - 0.93) < 0.01
    assert after([*calls, *[(5, 2.0)] * 500], correction=1.25) == settled


def test_when_all_report_otherwise_it_follows():
    moved = after([*[(1, 0.8), (2, 0.8)] * 40, *[(1, 1.2), (2, 1.2)] * 60], correction=1.25)
    assert abs(moved - 1.2) < 0.005


def test_so_many_people_and_no_more_are_kept():
    reports: list[list[float]] = []
    for owner_id in range(100):
        reports = with_report(reports, owner_id, 1.0, estimated=10, reported=11)
    assert [id for id, _ in reports] == list(range(100 - MAX_OWNERS, 100))


async def test_reports_above_twice_the_estimate_count_once_three_agree(conversation: Any, chat: Chat) -> None:
    async def reported(factor: float) -> float:
        """The correction after a turn whose provider counts `factor` times what we do."""
        loaded = await sync_to_async(usage.usage_of_conversation)(conversation)
        now = (await ModelProfile.objects.aget()).token_correction
        ours = (loaded.total / now) + count_tokens("And so on?") + 4
        chat.llm.enqueue("Yes.", usage={"prompt_tokens": round(ours * factor), "completion_tokens": 2})
        await chat.say("And so on?")
        return (await ModelProfile.objects.aget()).token_correction

    await sync_to_async(fill)(conversation, 6)
    before = (await ModelProfile.objects.aget()).token_correction
    assert await reported(3.0) == await reported(5.0) == await reported(3.1) == await reported(3.0) == before
    assert 2.8 < await reported(3.05) < 3.2
    assert 2.8 < await reported(2.9) < 3.2


@pytest.mark.parametrize(
    ("factors", "learned"),
    [
        ([3, 3, 3], 3.0),
        ([3, 3], None),
        ([3, 3, 1.5], None),
        ([3, 1.5, 3, 3], None),
        ([3, 3.2, 3.4], 3.2),
        ([3, 3, 4], None),
        ([9, 9, 9], None),
    ],
)
def test_far_reports_have_to_agree(factors: list[float], learned: float | None) -> None:
    far: list[float] = []
    for factor in factors:
        far = far_reports(far, estimated=1_000, reported=round(1_000 * factor))
    assert believed(far) == learned
