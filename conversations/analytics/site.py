"""The whole site's figures for the administrator. Those of past days are cached for minutes, today's are always new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import cast

from django.core.cache import caches

from compression import analytics
from compression.analytics import Run
from compression.days import Days
from compression.models import Compaction
from conversations.analytics import tallies
from conversations.analytics.comparisons import ComparisonGroup, comparisons
from conversations.analytics.tallies import ReplyTime
from conversations.analytics.totals import Tallies, merged

KEPT_SECONDS = 600
"""Seconds that the figures of past days are cached."""
FORMAT_VERSION = 3
"""The version of the cached value's format; raise it with every change, since older processes share the cache."""


@dataclass(frozen=True)
class Overview:
    replies: Tallies
    calls: Tallies
    waits: list[ReplyTime]
    runs: list[Run]
    errands: Tallies
    compared: list[ComparisonGroup]

    @cached_property
    def paid(self) -> Tallies:
        """The totals of requests for summaries."""
        return tallies.summaries(self.runs)

    @property
    def models(self) -> list[str]:
        """The names of the models that were sent requests, sorted."""
        return sorted({kind.model for kind in self.requests} - {""})

    @cached_property
    def answers(self) -> Tallies:
        """The totals of replies and gateway calls."""
        return merged(self.replies, self.calls)

    @cached_property
    def requests(self) -> Tallies:
        """The totals of all requests: replies, gateway calls, summaries and titles."""
        return merged(self.replies, self.calls, self.paid, self.errands)

    def of(self, *, model: str = "", trigger: str = "", flow: str = "") -> Overview:
        """The figures of one model, with the compactions of one trigger and flow; "" means all."""
        if not model and not trigger and not flow:
            return self

        def is_meant(run: Run) -> bool:
            return trigger in ("", run.trigger) and flow in ("", run.flow) and (not model or run.asked(model))

        return Overview(
            {kind: tally for kind, tally in self.replies.items() if model in ("", kind.model)},
            {kind: tally for kind, tally in self.calls.items() if model in ("", kind.model)},
            [wait for wait in self.waits if model in ("", wait.model)],
            [run for run in self.runs if is_meant(run)],
            {kind: tally for kind, tally in self.errands.items() if model in ("", kind.model)},
            [
                row
                for row in self.compared
                if model in ("", row.model) and trigger in ("", row.trigger) and flow in ("", row.flow)
            ],
        )


def overview_of(days: Days, *, today: date) -> Overview:
    """The figures of `days`; those before today may be KEPT_SECONDS old."""
    if days.first == today:
        return _query_overview(days)
    past, now = (
        _cached_overview(replace(days, last=today - timedelta(days=1))),
        _query_overview(replace(days, first=today)),
    )
    return Overview(
        past.replies | now.replies,
        past.calls | now.calls,
        [*past.waits, *now.waits],
        [*now.runs, *past.runs],
        past.errands | now.errands,
        [*past.compared, *now.compared],
    )


def _cached_overview(days: Days) -> Overview:
    key = f"overview:{FORMAT_VERSION}:{days.first}:{days.last}"
    return cast(Overview, caches["figures"].get_or_set(key, lambda: _query_overview(days), KEPT_SECONDS))


def _query_overview(days: Days) -> Overview:
    replies = tallies.replies(days)
    answered = sum(tally.requests for kind, tally in replies.items() if not kind.reason)
    return Overview(
        replies,
        tallies.calls(days),
        tallies.waits(days, of=answered),
        analytics.runs(Compaction.objects.all(), days),
        tallies.errands(days),
        comparisons(days),
    )
