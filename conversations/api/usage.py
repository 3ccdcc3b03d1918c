"""/api/usage: what one's own requests took, cost and saved."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from ninja import Query, Router

from compression.days import Days
from conversations import spending
from conversations.analytics import person, tallies
from conversations.analytics.person import Account
from conversations.analytics.totals import Tally, total
from conversations.api.auth import Request
from conversations.api.schemas import usage as schema
from conversations.api.schemas.fields import described
from conversations.errors import Invalid
from conversations.spending import Budget

router = Router(tags=["usage"])

USUAL_DAYS = 30
MAX_DAYS = 366
FIRST_DAY = date(2020, 1, 1)
MICRODOLLAR = Decimal("0.000001")

Since = Annotated[
    date | None, Query(description=f"The first day, in UTC; without it {USUAL_DAYS} days up to the last.")
]
Until = Annotated[date | None, Query(description="The last day, which is counted too; without it today.")]
By = Annotated[Literal["day", "model"], Query(description="What the items are.")]


@router.get("/usage", operation_id="usage_read", response=described(schema.UsageReport), summary="Read usage")
def read_usage(request: Request, since: Since = None, until: Until = None, by: By = "day") -> dict[str, Any]:
    """Your replies, your keys' calls of the gateway, and your summaries. Money is a decimal number in a string."""
    days = _days(since, until)
    account = person.account_of(request.auth, days)
    if by == "day":
        items = [_tally(tally) | {"day": day.isoformat(), "model": None} for day, tally in account.by_day(days)]
    else:
        items = [_tally(tally) | {"day": None, "model": model} for model, tally in account.by_model]
    own = spending.budget_of(request.auth.pk)
    shared = spending.shared_budgets(request.auth.pk) if own.is_shared_too else {}
    return {
        "since": days.first.isoformat(),
        "until": days.last.isoformat(),
        "by": by,
        "items": items,
        "total": _total(account),
        "budget": _budget(own),
        "shared_budgets": [_budget(budget) | {"group": group} for group, budget in shared.items()],
        "storage": tallies.storage(request.auth),
    }


def _days(since: date | None, until: date | None) -> Days:
    """The days of the request's period. Raises Invalid."""
    today = datetime.now(UTC).date()
    last = today if until is None else until
    if not FIRST_DAY <= last <= today:
        raise Invalid(f"until: must be a day from {FIRST_DAY} to today, in UTC.", field="until")
    first = max(FIRST_DAY, last - timedelta(days=USUAL_DAYS - 1)) if since is None else since
    if not FIRST_DAY <= first <= last:
        raise Invalid(f"since: must be a day from {FIRST_DAY} to that of until.", field="since")
    days = Days(first, last)
    if len(days) > MAX_DAYS:
        raise Invalid(f"since: at most {MAX_DAYS} days can be asked for at once.", field="since", limit=MAX_DAYS)
    return days


def _budget(budget: Budget) -> dict[str, Any]:
    return {
        "month": f"{spending.this_month():%Y-%m}",
        "tokens": budget.tokens,
        "used_tokens": budget.used_tokens,
        "usd": None if budget.usd is None else _dollars(budget.usd),
        "used_usd": _dollars(budget.used_usd),
    }


def _total(account: Account) -> dict[str, Any]:
    return _tally(account.total) | {
        "summaries_usd": _dollars(total(account.summaries.values()).cost),
        "net_saved_usd": _dollars(account.saved_usd),
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "requests": tally.requests,
        "failed": tally.failed,
        "prompt_tokens": tally.prompt,
        "cached_tokens": tally.cached,
        "completion_tokens": tally.completion,
        "cost_usd": _dollars(tally.cost),
        "unpriced_requests": tally.unpriced,
        "saved_tokens": tally.saved,
        "saved_usd": _dollars(tally.worth),
        "unpriced_saved_tokens": tally.saved_unpriced,
    }


def _dollars(amount: Decimal) -> str:
    return f"{amount.quantize(MICRODOLLAR):f}"
