"""/admin/analytics/: what compression saves and costs, how well it works, and how long people wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from compression.analytics import Figures, Run, figures
from compression.days import Days
from compression.models import Compaction
from conversations.admin import charts
from conversations.analytics import site
from conversations.analytics.site import Overview
from conversations.analytics.totals import Tally, grouped, total

PERIODS = (7, 30, 90)
USUAL = 30
PERMISSION = "compression.view_compaction"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the page is asked for; `model`, `trigger` and `flow` of "" are all."""

    period: int
    model: str
    trigger: str
    flow: str

    @property
    def is_of_compactions(self) -> bool:
        """Replies and calls have neither trigger nor flow."""
        return bool(self.trigger or self.flow)

    @property
    def by_period(self) -> list[tuple[int, str]]:
        """The periods, and the address of each with everything else as it is."""
        others = {name: value for name in ("model", "trigger", "flow") if (value := getattr(self, name))}
        return [(days, "?" + urlencode({"days": days, **others})) for days in PERIODS]


@require_GET
def analytics(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    today = datetime.now(UTC).date()
    choice = _choice(request)
    days = Days.until(today, choice.period)
    everything = site.overview_of(days, today=today)
    seen = everything.of(model=choice.model, trigger=choice.trigger, flow=choice.flow)
    answers, paid = total(seen.answers.values()), total(seen.paid.values())
    context = {
        **admin.site.each_context(request),
        "title": "Analytics",
        "choice": choice,
        "days": days,
        "models": everything.models,
        "triggers": Compaction.Trigger.choices,
        "flows": Compaction.Flow.choices,
        "totals": answers + paid,
        "answers": answers,
        "paid": paid,
        "saved": answers.worth - paid.cost,
        "quality": figures(seen.runs),
        "charts": [
            *([] if choice.is_of_compactions else charts.of_requests(seen, days)),
            *charts.of_compactions(seen, days),
        ],
        "by_model": [] if choice.is_of_compactions else _by_model(seen),
        "breakdowns": _breakdowns(seen),
    }
    return render(request, "admin/analytics.html", context)


def _choice(request: HttpRequest) -> Choice:
    """What cannot be read is as good as not given."""
    days, trigger, flow = (request.GET.get(name, "") for name in ("days", "trigger", "flow"))
    return Choice(
        period=int(days) if days in map(str, PERIODS) else USUAL,
        model=request.GET.get("model", "")[:200].replace("\0", ""),
        trigger=trigger if trigger in Compaction.Trigger.values else "",
        flow=flow if flow in Compaction.Flow.values else "",
    )


def _by_model(seen: Overview) -> list[tuple[str, Tally]]:
    """The dearest first."""
    found = grouped(seen.requests, lambda kind: kind.model)
    return sorted(found.items(), key=lambda entry: (-entry[1].cost, -entry[1].prompt, entry[0]))


def _breakdowns(seen: Overview) -> list[tuple[str, list[tuple[str, Figures]]]]:
    """By trigger; and by flow, where agents have had anything compressed."""
    by_trigger = _by(Compaction.Trigger.choices, [(run.trigger, run) for run in seen.runs])
    by_flow = _by(Compaction.Flow.choices, [(run.flow, run) for run in seen.runs])
    is_of_chats = all(run.flow == Compaction.Flow.CHAT for run in seen.runs)
    found = [("trigger", by_trigger), ("flow", [] if is_of_chats else by_flow)]
    return [(name, rows) for name, rows in found if rows]


def _by(choices: Sequence[tuple[str, Any]], runs: list[tuple[str, Run]]) -> list[tuple[str, Figures]]:
    several = {value: [run for key, run in runs if key == value] for value, _ in choices}
    return [(str(label), figures(several[value])) for value, label in choices if several[value]]
