"""The figures of everybody, for the administrator. What is past is kept for some minutes; today's are always new."""

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
from conversations import spending
from conversations.spending import Wait
from conversations.tally import Tallies, merged

KEPT_SECONDS = 600
FORM = 2
"""Rises with every change of what is kept: an older process may have kept it."""


@dataclass(frozen=True)
class Overview:
    replies: Tallies
    calls: Tallies
    waits: list[Wait]
    runs: list[Run]
    errands: Tallies

    @cached_property
    def paid(self) -> Tallies:
        """Requests for summaries."""
        return spending.summaries(self.runs)

    @property
    def models(self) -> list[str]:
        """All that were asked for something."""
        return sorted({kind.model for kind in self.requests} - {""})

    @cached_property
    def answers(self) -> Tallies:
        """Replies and calls."""
        return merged(self.replies, self.calls)

    @cached_property
    def requests(self) -> Tallies:
        """Replies, calls, requests for summaries and for titles."""
        return merged(self.replies, self.calls, self.paid, self.errands)

    def of(self, *, model: str = "", trigger: str = "", flow: str = "") -> Overview:
        """What one model was asked for, and the compactions of one trigger and flow alone; "" is all."""
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
        )


def read(days: Days, *, today: date) -> Overview:
    """The days before today as they were some minutes ago at most."""
    if days.first == today:
        return _read(days)
    past, now = _kept(replace(days, last=today - timedelta(days=1))), _read(replace(days, first=today))
    return Overview(
        past.replies | now.replies,
        past.calls | now.calls,
        [*past.waits, *now.waits],
        [*now.runs, *past.runs],
        past.errands | now.errands,
    )


def _kept(days: Days) -> Overview:
    key = f"overview:{FORM}:{days.first}:{days.last}"
    return cast(Overview, caches["figures"].get_or_set(key, lambda: _read(days), KEPT_SECONDS))


def _read(days: Days) -> Overview:
    replies = spending.replies(days)
    answered = sum(tally.requests for kind, tally in replies.items() if not kind.reason)
    return Overview(
        replies,
        spending.calls(days),
        spending.waits(days, of=answered),
        analytics.runs(Compaction.objects.all(), days),
        spending.errands(days),
    )
