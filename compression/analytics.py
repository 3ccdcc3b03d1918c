"""Computes figures of compactions: their reduction, summarisers, durations and failures.

There is about one row for dozens of turns, so all rows are read in one query and everything is computed from them.
docs/analytics.md defines each figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from math import ceil
from typing import Any

from django.db.models import QuerySet

from compression.core.extractive.summariser import Extractive
from compression.core.truncation import Truncation
from compression.days import Days, day_of
from compression.ids import moment_of
from compression.models import Compaction

IN_FORCE = (Compaction.Status.SUCCEEDED, Compaction.Status.UNDONE)
"""Statuses of compactions whose result was put in force, even if it was undone later."""
MAX_COMPACTIONS = 50_000
"""Only this many of the newest compactions are read: more would take a page seconds."""
COPY = timedelta(minutes=1)
"""A row whose id is this much newer than its `created_at` is a copy: a fork keeps dates and makes new ids."""
ANOTHER_MODEL = "another model"
BUILT_IN = (Extractive.name, Truncation.name)
COLUMNS = (
    "id", "created_at", "trigger", "flow", "status", "summariser", "steps", "reduction_percent", "facts_found",
    "facts_kept", "facts_repaired", "duration_ms", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd",
    "error_code",
)  # fmt: skip
OTHER = "other"
"""The reason of a failure that has no code."""


@dataclass(frozen=True, slots=True)
class Run:
    """One compaction; `failures` are (summariser, error code) of each summariser that failed before the last one."""

    day: date
    trigger: str
    flow: str
    status: str
    summariser: str
    failures: tuple[tuple[str, str], ...]
    reduction: float | None
    found: int
    kept: int
    repaired: int
    ms: int | None
    prompt: int
    cached: int
    completion: int
    cost: Decimal | None
    error_code: str

    @property
    def is_in_force(self) -> bool:
        return self.status in IN_FORCE

    @property
    def is_failed(self) -> bool:
        return self.status == Compaction.Status.FAILED

    @property
    def substitute(self) -> str:
        """The summariser that stepped in for the first choice; "" if the first choice wrote the summary.

        Failures of built-in summarisers do not count: they come last, so they are not the first choice.
        """
        if all(name in BUILT_IN for name, _ in self.failures):
            return ""
        return self.summariser if self.summariser in BUILT_IN else ANOTHER_MODEL

    @property
    def paid(self) -> str:
        """The model that the tokens count for: the one that wrote the summary, else the first that was asked."""
        return next((name for name in (self.summariser, *dict(self.failures)) if name not in BUILT_IN), self.summariser)

    def asked(self, model: str) -> bool:
        """Whether this model wrote the summary or failed to."""
        return self.summariser == model or any(name == model for name, _ in self.failures)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of some compactions. Shares are from 0 to 1; None: no data."""

    runs: int
    failed: int
    in_force: int
    reduction: float | None
    p50_ms: int | None
    p95_ms: int | None
    retention: float | None
    repaired: float | None
    substituted: float | None


def runs(among: QuerySet[Compaction], days: Days) -> list[Run]:
    """The compactions of these days, latest first, at most MAX_COMPACTIONS; one query, by a range of the key."""
    first, *_, end = days.bounds
    rows = among.filter(id__gte=first, id__lt=end).order_by("-id")
    columns = rows.values_list(*COLUMNS)[:MAX_COMPACTIONS].iterator()
    return [_run(day_of(row[0]), *row[2:]) for row in columns if moment_of(row[0]) - row[1] < COPY]


def figures(of: Sequence[Run]) -> Figures:
    """The figures of these compactions."""
    in_force = [run for run in of if run.is_in_force]
    times = sorted(run.ms for run in in_force if run.ms is not None)
    facts = sum(run.found for run in in_force)
    return Figures(
        runs=len(of),
        failed=sum(run.is_failed for run in of),
        in_force=len(in_force),
        reduction=percentile(sorted(run.reduction for run in in_force if run.reduction is not None), 0.5),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        retention=sum(run.kept for run in in_force) / facts if facts else None,
        repaired=sum(run.repaired for run in in_force) / facts if facts else None,
        substituted=sum(bool(run.substitute) for run in in_force) / len(in_force) if in_force else None,
    )


def by_day(of: Iterable[Run], days: Days) -> list[list[Run]]:
    """The compactions of each day."""
    runs_of_day: dict[date, list[Run]] = {day: [] for day in days.dates}
    for run in of:
        runs_of_day[run.day].append(run)
    return list(runs_of_day.values())


def failures(of: Iterable[Run]) -> tuple[Counter[str], Counter[str]]:
    """Two counts by reason: failures of a summariser that another replaced, and failures of whole compactions.

    A reason is an ErrorCode, or OTHER.
    """
    seen = list(of)
    passed = Counter(code or OTHER for run in seen for _, code in run.failures)
    return passed, Counter(run.error_code or OTHER for run in seen if run.is_failed)


def substitutes(of: Iterable[Run]) -> Counter[str]:
    """How often each summariser stepped in for the first choice."""
    return Counter(run.substitute for run in of if run.is_in_force and run.substitute)


def percentile[Number: (int, float)](ordered: Sequence[Number], share: float) -> Number | None:
    """The smallest of the ascending values that at least `share` of them do not exceed (nearest rank)."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def _run(
    day: date, trigger: str, flow: str, status: str, summariser: str, steps: list[dict[str, Any]], *rest: Any
) -> Run:
    failed = tuple((step["summariser"], step.get("code", "")) for step in steps if "failed" in step)
    return Run(day, trigger, flow, status, summariser, failed, *rest)
