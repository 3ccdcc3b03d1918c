from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from compression import analytics
from compression.analytics import percentile
from compression.days import Days
from compression.models import Compaction
from tests.conversations.spent import NOON, run

DAYS = Days.until(NOON.date(), 3)


def read() -> list[analytics.Run]:
    return analytics.runs(Compaction.objects.all(), DAYS)


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7], 0.99) == 7
    assert [percentile(list(range(1, 101)), share) for share in (0, 0.5, 0.95, 0.99, 1)] == [1, 50, 95, 99, 100]
    assert percentile([1, 2], 0.5) == 1


def test_compactions_count_on_the_day_that_they_began(conversation: Any) -> None:
    run(conversation, DAYS.start - timedelta(milliseconds=1))
    run(conversation, DAYS.start)
    run(conversation, DAYS.end - timedelta(milliseconds=1))
    run(conversation, DAYS.end)
    assert [len(of) for of in analytics.by_day(read(), DAYS)] == [1, 0, 1]


def test_figures_are_of_what_was_put_in_force(conversation: Any) -> None:
    for percent, ms in ((50, 1_000), (80, 2_000), (90, 9_000)):
        run(
            conversation, reduction_percent=percent, duration_ms=ms, facts_found=10, facts_kept=9, facts_repaired=3,
            status="undone" if percent == 90 else "succeeded",
        )  # fmt: skip
    run(conversation, status="failed", duration_ms=99_000, error="summarise: it broke")
    run(conversation, status="skipped", reduction_percent=1, duration_ms=99_000)
    found = analytics.figures(read())
    assert (found.runs, found.in_force, found.failed) == (5, 3, 1)
    assert (found.reduction, found.p50_ms, found.p95_ms) == (80, 2_000, 9_000)
    assert (found.retention, found.repaired) == (0.9, 0.3)


def test_nothing_has_no_figures(db: None) -> None:
    found = analytics.figures(read())
    assert (found.runs, found.reduction, found.p95_ms, found.retention, found.substituted) == (
        0,
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("summariser", "passed", "substitute"),
    [
        ("fast", [], ""),
        ("extractive", [], ""),
        ("truncation", ["fast", "extractive"], "truncation"),
        ("extractive", ["fast", "chat"], "extractive"),
        ("chat", ["fast"], "another model"),
        ("fast", ["extractive"], ""),
    ],
)
def test_who_stepped_in_is_known_by_who_was_passed_over(
    conversation: Any, summariser: str, passed: list[str], substitute: str
) -> None:
    steps = [{"summariser": name, "failed": "validate: the summary was cut off"} for name in passed]
    run(conversation, summariser=summariser, steps=[*steps, {"summariser": "", "action": "2 messages left out"}])
    (found,) = read()
    assert found.substitute == substitute
    assert analytics.substitutes([found]) == ({substitute: 1} if substitute else {})
    assert analytics.figures([found]).substituted == bool(substitute)


def test_failures_are_counted_by_reason_apart_for_those_that_another_made_good(conversation: Any) -> None:
    run(
        conversation,
        steps=[{"summariser": "fast", "failed": "a", "code": "silence"}, {"summariser": "chat", "failed": "b"}],
    )
    run(conversation, status="failed", error="a", error_code="cut_off")
    assert analytics.failures(read()) == ({"silence": 1, "other": 1}, {"cut_off": 1})


def test_what_was_paid_is_counted_for_a_model_where_none_wrote_the_summary(conversation: Any) -> None:
    run(conversation, summariser="extractive", steps=[{"summariser": "fast", "failed": "cut off"}])
    (found,) = read()
    assert (found.paid, found.asked("fast"), found.asked("chat")) == ("fast", True, False)


def test_only_the_newest_compactions_are_looked_at(conversation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "MAX_COMPACTIONS", 2)
    for minute in range(3):
        run(conversation, NOON + timedelta(minutes=minute), cost_usd=Decimal(minute))
    assert [found.cost for found in read()] == [2, 1]


def test_the_rows_that_a_fork_copies_are_not_counted_again(conversation: Any) -> None:
    run(conversation)
    # As `conversations.forks` makes them: the dates of the original, and an id of now.
    run(conversation, NOON + timedelta(hours=1), created_at=NOON)
    assert len(read()) == 1
