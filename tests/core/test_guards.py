"""Guards that a small change could remove without another test noticing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compression.core.citations.source_texts import SourceTexts
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.recall import recall
from compression.core.recall.recall import PastMessage
from compression.core.text.summary_text import accepted
from compression.core.tokens import count_tokens
from compression.core.values import SummariserOutput

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WHOLE = "## Summary\nThey moved it.\n\n## State\n- Done: the move to node-7"


def test_a_whole_summary_that_was_cut_off_is_refused() -> None:
    assert accepted(SummariserOutput(WHOLE)) == WHOLE
    with pytest.raises(CompactionFailed) as refused:
        accepted(SummariserOutput(WHOLE, finished=False))
    assert refused.value.code == ErrorCode.CUT_OFF


@pytest.mark.parametrize(
    ("text", "is_there"), [("It is 14 now", True), ("It is 3.14 now", False), ("It is 140", False), ("At 14.", True)]
)
def test_a_number_within_another_one_does_not_stand_there(text: str, is_there: bool) -> None:
    assert SourceTexts([(text, None)])._has_exactly("14") is is_there


@pytest.mark.parametrize("budget", range(90, 900, 45))
def test_the_frame_of_recalled_passages_is_within_their_budget(budget: int) -> None:
    past = [
        PastMessage(str(at), at, "user", "", f"Port {5000 + at} is of service {at}. " + "More of it. " * 12,
                    START + timedelta(minutes=at))
        for at in range(1, 40)
    ]  # fmt: skip
    weights = {"port": 1.0, "service": 1.0, "5007": 1.0}
    counts = {"port": 10, "service": 10, "5007": 1}
    quotes = recall.chosen(past, weights, counts=counts, among=100, budget=budget, count=count_tokens)
    found = recall.recalled("q", quotes, count_tokens)
    assert found is None or found.tokens <= budget
    assert found is not None or budget < 200
