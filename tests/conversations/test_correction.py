from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.llm.correction import learned

pytestmark = pytest.mark.once


def test_a_report_moves_the_correction_a_fifth_of_the_way():
    assert learned(1.25, estimated=1_000, reported=1_500) == 1.3
    assert learned(1.25, estimated=1_000, reported=1_000) == 1.2


def test_a_report_at_the_bounds_still_counts():
    assert learned(1.0, estimated=1_000, reported=2_000) == 1.2
    assert learned(1.0, estimated=1_000, reported=500) == 0.9


def test_a_report_outside_half_to_twice_the_estimate_is_ignored():
    assert learned(1.25, estimated=1_000, reported=2_001) == 1.25
    assert learned(1.25, estimated=1_000, reported=499) == 1.25
    assert learned(1.25, estimated=0, reported=0) == 1.25
    assert learned(1.25, estimated=-4, reported=-4) == 1.25


def test_it_settles_at_what_a_provider_keeps_reporting():
    correction = 1.25
    for _ in range(40):
        correction = learned(correction, estimated=10_000, reported=10_830)
    assert abs(correction - 1.083) < 0.001


@given(st.floats(0.5, 2.0), st.integers(-10, 10**9), st.integers(-10, 10**9))
def test_no_report_leads_out_of_half_to_twice(correction, estimated, reported):
    assert 0.5 <= learned(correction, estimated=estimated, reported=reported) <= 2.0
