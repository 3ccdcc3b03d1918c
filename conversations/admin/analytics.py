"""/admin/analytics/: savings, costs and quality of compaction, and the time people wait for replies."""

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
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from compression.analytics import Figures, Run, figures
from compression.days import Days
from compression.models import Compaction
from conversations.admin import charts, labels
from conversations.analytics import site
from conversations.analytics.site import Overview
from conversations.analytics.totals import Tally, grouped, total

PERIODS = (7, 30, 90)
DEFAULT_PERIOD = 30
PERMISSION = "compression.view_compaction"


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen filters of the page; "" for `model`, `trigger` or `flow` means all."""

    period: int
    model: str
    trigger: str
    flow: str

    @property
    def is_of_compactions(self) -> bool:
        """Whether a filter applies to compactions alone: replies and calls have neither trigger nor flow."""
        return bool(self.trigger or self.flow)

    @property
    def by_period(self) -> list[tuple[int, str]]:
        """The periods in days, each with the page's address for it under the same filters."""
        others = {name: value for name in ("model", "trigger", "flow") if (value := getattr(self, name))}
        return [(days, "?" + urlencode({"days": days, **others})) for days in PERIODS]


@require_GET
def analytics(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    today = datetime.now(UTC).date()
    choice = _chosen_filters(request)
    days = Days.until(today, choice.period)
    everything = site.overview_of(days, today=today)
    overview = everything.of(model=choice.model, trigger=choice.trigger, flow=choice.flow)
    answers, paid = total(overview.answers.values()), total(overview.paid.values())
    context = {
        **admin.site.each_context(request),
        "title": _("Analytics"),
        "choice": choice,
        "days": days,
        "models": everything.models,
        "triggers": labels.choices_of(Compaction, "trigger"),
        "flows": labels.choices_of(Compaction, "flow"),
        "totals": answers + paid,
        "answers": answers,
        "paid": paid,
        "saved": answers.worth - paid.cost,
        "quality": figures(overview.runs),
        "charts": [
            *([] if choice.is_of_compactions else charts.of_requests(overview, days)),
            *charts.of_compactions(overview, days),
            *charts.of_comparisons(overview),
        ],
        "by_model": [] if choice.is_of_compactions else _by_model(overview),
        "breakdowns": _breakdowns(overview),
    }
    return render(request, "admin/analytics.html", context)


def _chosen_filters(request: HttpRequest) -> Choice:
    """The filters of the request; invalid values count as absent."""
    days, trigger, flow = (request.GET.get(name, "") for name in ("days", "trigger", "flow"))
    return Choice(
        period=int(days) if days in map(str, PERIODS) else DEFAULT_PERIOD,
        model=request.GET.get("model", "")[:200].replace("\0", ""),
        trigger=trigger if trigger in Compaction.Trigger.values else "",
        flow=flow if flow in Compaction.Flow.values else "",
    )


def _by_model(overview: Overview) -> list[tuple[str, Tally]]:
    """The totals of each model, the most expensive first."""
    by_model = grouped(overview.requests, lambda kind: kind.model)
    return sorted(by_model.items(), key=lambda entry: (-entry[1].cost, -entry[1].prompt, entry[0]))


def _breakdowns(overview: Overview) -> list[tuple[str, str, list[tuple[str, Figures]]]]:
    """(heading, name of the first column, rows): the quality by trigger, and by flow if agents have compactions."""
    by_trigger = _figures_by(labels.choices_of(Compaction, "trigger"), [(run.trigger, run) for run in overview.runs])
    by_flow = _figures_by(labels.choices_of(Compaction, "flow"), [(run.flow, run) for run in overview.runs])
    is_of_chats = all(run.flow == Compaction.Flow.CHAT for run in overview.runs)
    breakdowns = [(_("By trigger"), _("Trigger"), by_trigger)]
    breakdowns += [] if is_of_chats else [(_("By flow"), _("Flow"), by_flow)]
    return [breakdown for breakdown in breakdowns if breakdown[-1]]


def _figures_by(choices: Sequence[tuple[str, Any]], runs: list[tuple[str, Run]]) -> list[tuple[str, Figures]]:
    several = {value: [run for key, run in runs if key == value] for value, _ in choices}
    return [(str(label), figures(several[value])) for value, label in choices if several[value]]
