"""Measures a compaction's progress and remaining time: its worker computes them, its row stores them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import ceil
from statistics import median
from typing import Any

from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.core.plan.progress_estimate import ProgressEstimate
from compression.core.ports import Summariser
from compression.core.stages.summarise import FROM_PERCENT, TO_PERCENT
from compression.models import Compaction
from conversations.compaction.lease import advance
from conversations.compaction.model_summariser import ModelSummariser

RECENT_RUNS = 20
ALIKE = 2
"""Factor by which the tokens of two runs may differ for the runs to count as about the same size."""
LATE_SHARE = 0.1
"""Share of the elapsed time that a late run is expected to take still, at least."""


class Progress:
    """The progress of a run whose row this process holds. The percent never falls: the next summariser continues from
    it.
    """

    def __init__(self, row: Compaction) -> None:
        self._row = row
        self.estimate = ProgressEstimate()
        self._name = ""
        self._stage = ""
        self._percent = row.percent
        self._from = row.percent
        self._told = row.percent

    def begin(self, summariser: Summariser) -> None:
        """Start measuring the next summariser of the fallback chain."""
        self._from, self.estimate, self._name = self._percent, ProgressEstimate(), summariser.name
        if isinstance(summariser, ModelSummariser):
            summariser.on_share = self._write

    async def on_stage(self, stage: str, percent: int) -> None:
        """Store and publish the stage and percent. Raises LeaseLost."""
        self._stage = stage
        if stage == "summarise":
            percent = self._at_parts
        self._go_to(percent)
        await advance(self._row, self._stage, self._percent, summariser=self._name, **self._figures())

    async def planned(self, steps: Sequence[Sequence[float]], *, at_once: int, tokens: int) -> None:
        """Take the requests of a summary that replaces `tokens`, by their weights, as the measure of its progress."""
        if not self.estimate.parts:
            self.estimate = ProgressEstimate(usual=await sync_to_async(usual_seconds)(self._name, tokens))
        self.estimate.plan(steps, at_once=at_once)

    async def ended(self, number: int) -> None:
        """Store and publish that a part is done. Raises LeaseLost."""
        self.estimate.end(number)
        await self.on_stage("summarise", FROM_PERCENT)

    def news(self) -> dict[str, Any]:
        """The columns that have changed since they were last stored; empty if the percent is the same."""
        if self._percent == self._told:
            return {}
        return {"percent": self._percent, **self._figures()}

    def _write(self, number: int, share: float) -> None:
        self.estimate.write(number, share)
        self._go_to(self._at_parts)

    @property
    def _at_parts(self) -> int:
        return FROM_PERCENT + int((TO_PERCENT - FROM_PERCENT) * self.estimate.share)

    def _go_to(self, percent: int) -> None:
        self._percent = max(self._percent, self._from + (100 - self._from) * percent // 100)

    def _figures(self) -> dict[str, Any]:
        self._told = self._percent
        left = self.estimate.remaining
        return {
            "parts": self.estimate.parts,
            "parts_done": self.estimate.done,
            "eta_ms": None if left is None else round(1000 * left),
            "advanced_at": timezone.now(),
        }


def usual_seconds(summariser: str, tokens: int) -> float | None:
    """The median seconds of this summariser's last runs of about as many tokens; None if there are none."""
    runs = Compaction.objects.filter(
        summariser=summariser,
        status__in=(Compaction.Status.SUCCEEDED, Compaction.Status.READY, Compaction.Status.UNDONE),
        duration_ms__isnull=False,
        pre_tokens__gte=tokens / ALIKE,
        pre_tokens__lte=tokens * ALIKE,
    )
    recent = [ms or 0 for ms in runs.order_by("-created_at").values_list("duration_ms", flat=True)[:RECENT_RUNS]]
    return median(recent) / 1000 if recent else None


def eta_seconds(row: Compaction, *, now: datetime | None = None) -> int | None:
    """The estimated seconds left, from the parts done: at least 1 while it runs, and growing once it is late.

    None if no worker is running it or no estimate exists yet; 0 if it has ended.
    """
    now = now or timezone.now()
    if not row.is_active:
        return 0
    if row.status == Compaction.Status.PENDING or row.is_abandoned(now) or row.eta_ms is None:
        return None
    heard, began = row.advanced_at or now, row.started_at or now
    left = row.eta_ms / 1000 - (now - heard).total_seconds()
    return max(1, ceil(max(left, LATE_SHARE * (now - began).total_seconds())))


def elapsed_seconds(row: Compaction, *, now: datetime | None = None) -> int:
    """The seconds from the compaction's request to its end, or to now while it is active."""
    end = row.finished_at or now or timezone.now()
    return max(0, int((end - row.created_at).total_seconds()))
