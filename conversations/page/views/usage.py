"""/usage/: tokens, cost and savings of a person's own requests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import cast

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from compression.days import Days
from conversations import spending
from conversations.analytics import person, tallies
from conversations.analytics.charts import Chart, Series
from conversations.analytics.person import Account
from conversations.analytics.totals import Tallies, Tally, grouped
from conversations.models import User
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar
from conversations.quota import MB, used_by
from conversations.runtime.amounts import amount, localized

LATEST_CALLS = 50
"""The calls of the gateway that are listed one by one."""
PERIODS = {"30": gettext_lazy("Last 30 days"), "month": gettext_lazy("This month")}


def _budgets(person_id: int) -> list[tuple[str, spending.Budget]]:
    """The budgets that limit a person this month, with their headings: their own, and those that groups share."""
    own = spending.budget_of(person_id)
    shared = spending.shared_budgets(person_id) if own.is_shared_too else {}
    headed = [
        (_("Budget of this month, all members of %(group)s") % {"group": name}, one) for name, one in shared.items()
    ]
    return [(_("Budget of this month"), own), *headed] if own.is_limited else headed


@member
@require_GET
def usage(request: Request) -> HttpResponse:
    period = request.GET.get("period", "")
    period = period if period in PERIODS else "30"
    days = _days(period, datetime.now(UTC).date())
    account = person.account_of(request.user, days)
    context = {
        "sidebar": sidebar(request.user),
        "period": period,
        "periods": PERIODS,
        "days": days,
        "account": account,
        "total": account.total,
        "charts": _charts(account, days),
        "by_model": account.by_model,
        "by_source": account.by_source,
        "by_day": [(day.isoformat(), tally) for day, tally in reversed(account.by_day(days)) if tally.requests],
        "calls": person.latest_calls(request.user, days, most=LATEST_CALLS),
        "budgets": _budgets(cast(User, request.user).pk),
        "budget_begins": spending.next_month(),
        "storage": tallies.storage(request.user),
    }
    return render(request, "conversations/settings/usage.html", context)


@member
@require_GET
def stored(request: Request) -> HttpResponse:
    """The megabytes that the person has stored, of those that one person may store."""
    used = localized(f"{used_by(cast(User, request.user).pk) / MB:,.1f}")
    most = settings.STORAGE_PER_USER_MB
    words = _("%(used)s of %(most)s MB stored") if most else _("%(used)s MB stored")
    return HttpResponse(words % {"used": used, "most": amount(most)})


def _days(period: str, today: date) -> Days:
    return Days(today.replace(day=1) if period == "month" else today - timedelta(days=29), today)


def _charts(account: Account, days: Days) -> list[Chart]:
    order = _("M j")  # the month and the day of the month, as Django formats dates
    labels = tuple(date_format(day, order) for day in days.dates)

    def series(name: str, of: Tallies, value: str) -> Series:
        by_day = grouped(of, lambda kind: kind.day)
        return Series(name, tuple(float(getattr(by_day.get(day, Tally()), value)) for day in days.dates))

    everything = account.requests
    return [
        Chart(
            _("Tokens"),
            "tokens",
            labels,
            (
                series(_("prompt"), everything, "fresh"),
                series(_("prompt, cached"), everything, "cached"),
                series(_("answer"), everything, "completion"),
            ),
        ),
        Chart(
            _("Cost"),
            "usd",
            labels,
            (
                series(_("replies"), account.replies, "cost"),
                series(_("gateway"), account.calls, "cost"),
                series(_("summaries"), account.summaries, "cost"),
            ),
        ),
    ]
