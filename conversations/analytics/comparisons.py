"""Queries how far replies after a compaction agree with the model's answers from the whole history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from django.db.models import Count, Sum

from compression.days import Days
from conversations.models import ShadowComparison

COLUMNS = ("model", "judge", "compaction__strategy", "compaction__prompt", "compaction__trigger", "compaction__flow")


class ComparisonGroup(NamedTuple):
    """The comparisons of one model, judge, strategy, prompt, trigger and flow; `agreement` is a sum of 0 to 1 each."""

    model: str
    judge: str
    strategy: str
    prompt: str
    trigger: str
    flow: str
    replies: int
    agreement: float
    sent_tokens: int
    full_tokens: int


def comparisons(days: Days) -> list[ComparisonGroup]:
    """The comparisons of these days in one query, by a range of the key; a copied reply has none."""
    first, *_, end = days.bounds
    rows = ShadowComparison.objects.filter(id__gte=first, id__lt=end).order_by()
    sums = (Count("pk"), Sum("agreement"), Sum("sent_tokens"), Sum("full_tokens"))
    return [ComparisonGroup(*row) for row in rows.values_list(*COLUMNS).annotate(*sums)]


def mean_agreement(
    rows: Iterable[ComparisonGroup], by: Callable[[ComparisonGroup], str]
) -> dict[str, tuple[int, float]]:
    """(replies, mean agreement) of each value of `by`, the most frequent first."""
    sums: dict[str, tuple[int, float]] = {}
    for row in rows:
        replies, agreement = sums.get(by(row), (0, 0.0))
        sums[by(row)] = replies + row.replies, agreement + row.agreement
    means = {name: (replies, agreement / replies) for name, (replies, agreement) in sums.items()}
    return dict(sorted(means.items(), key=lambda entry: (-entry[1][0], entry[0])))
