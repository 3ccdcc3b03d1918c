"""Counts each person's tokens and dollars by month, and refuses requests beyond a monthly budget.

A request is counted when it has ended, so requests that run at the same time may pass the budget by their own size.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Count, F, Max, OuterRef, Subquery, Sum
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from conversations.errors import Refused
from conversations.models import ApiKey, GroupBudget, Spending, User

OF_PERSON = gettext_noop(
    "Your budget of this month, %(limit)s, is used up. The next one begins on %(day)s (UTC). Whoever runs this site "
    "can raise it."
)
OF_GROUP = gettext_noop(
    "The budget of this month that the members of %(group)s share, %(limit)s, is used up. The next one begins on "
    "%(day)s (UTC). Whoever runs this site can raise it."
)
OF_KEY = gettext_noop(
    "The budget of this key for this month, %(limit)s, is used up. The next one begins on %(day)s (UTC). Its owner can "
    "raise it in the settings."
)


class OverBudget(Refused):
    """The person or the key has used up a monthly budget.

    The code is OpenAI's; the status is OpenRouter's, as clients try again after OpenAI's 429.
    """

    code = "insufficient_quota"
    status = 402


@dataclass(frozen=True, slots=True)
class Budget:
    """A month's limits and use: tokens of prompts and answers, and US dollars. A limit is None where there is none.

    `is_shared_too` is whether a group of the person shares a budget beside it.
    """

    tokens: int | None
    usd: Decimal | None
    used_tokens: int = 0
    used_usd: Decimal = Decimal(0)
    is_shared_too: bool = False

    @property
    def is_limited(self) -> bool:
        return self.tokens is not None or self.usd is not None

    @property
    def share(self) -> float:
        """The used share of the limit that is nearest, at most 1; 0 without a limit."""
        shares = [
            1.0 if used >= limit else float(used / limit)
            for used, limit in ((Decimal(self.used_tokens), self.tokens), (self.used_usd, self.usd))
            if limit is not None
        ]
        return max(shares, default=0.0)

    def reached(self) -> str:
        """The limit that is reached, in words; "" if there is still room."""
        if self.tokens is not None and self.used_tokens >= self.tokens:
            words = ngettext("%(number)s token", "%(number)s tokens", self.tokens)
            return words % {"number": f"{self.tokens:,}"}
        if self.usd is not None and self.used_usd >= self.usd:
            return f"${self.usd:,.2f}"
        return ""


def this_month() -> date:
    """The first day of the month, in UTC."""
    return datetime.now(UTC).date().replace(day=1)


def next_month() -> date:
    """The day on which the next budget begins, in UTC."""
    return (this_month() + timedelta(days=31)).replace(day=1)


def count(owner_id: int, tokens: int, usd: Decimal | None, *, key_id: int | None = None) -> None:
    """Add an ended request to the sums of its person, and of its key; unknown costs (None) count as 0."""
    if not tokens and not usd:
        return
    usd = usd or Decimal(0)
    for key in {None, key_id}:
        of_month = {"user_id": owner_id, "key_id": key, "month": this_month()}
        rows = Spending.objects.filter(**of_month)
        more = {"tokens": F("tokens") + tokens, "usd": F("usd") + usd}
        if not rows.update(**more):
            made = Spending.objects.get_or_create(**of_month, defaults={"tokens": tokens, "usd": usd})[1]
            if not made:
                rows.update(**more)


def budget_of(owner_id: int) -> Budget:
    """A person's budget: their own, else the largest of their groups', else the site's. One query."""
    month = Spending.objects.filter(user_id=owner_id, key=None, month=this_month())
    columns = User.objects.filter(pk=owner_id).values_list(
        "monthly_tokens",
        "monthly_usd",
        Max("groups__budget__monthly_tokens"),
        Max("groups__budget__monthly_usd"),
        Subquery(month.values("tokens")),
        Subquery(month.values("usd")),
        Count("groups__budget__shared_tokens") + Count("groups__budget__shared_usd"),
    )
    row = columns.first() or (None,) * 7
    own_tokens, own_usd, of_groups_tokens, of_groups_usd, used_tokens, used_usd, shared = row
    site_tokens, site_usd = settings.MONTHLY_TOKENS_PER_USER or None, settings.MONTHLY_USD_PER_USER
    return Budget(
        _first(own_tokens, of_groups_tokens, site_tokens),
        _first(own_usd, of_groups_usd, Decimal(str(site_usd)) if site_usd else None),
        used_tokens or 0,
        used_usd or Decimal(0),
        bool(shared),
    )


def shared_budgets(owner_id: int) -> dict[str, Budget]:
    """The budgets that a person shares with all members of a group, by the group's name, with their sum. One query."""
    of_members = Spending.objects.filter(key=None, month=this_month(), user__groups=OuterRef("group")).order_by()
    shared = GroupBudget.objects.filter(group__user=owner_id).exclude(shared_tokens=None, shared_usd=None)
    rows = shared.order_by("group__name").values_list(
        "group__name",
        "shared_tokens",
        "shared_usd",
        Subquery(of_members.values("month").values_list(Sum("tokens"))),
        Subquery(of_members.values("month").values_list(Sum("usd"))),
    )
    return {name: Budget(most, usd, used or 0, used_usd or Decimal(0)) for name, most, usd, used, used_usd in rows}


def budget_of_key(key: ApiKey) -> Budget:
    """A key's budget, which counts its calls of the gateway; asks for the use only where there is a limit."""
    budget = Budget(key.monthly_tokens, key.monthly_usd)
    if not budget.is_limited:
        return budget
    row = Spending.objects.filter(key=key, month=this_month()).first()
    return Budget(budget.tokens, budget.usd, row.tokens, row.usd) if row else budget


def require_budget(owner_id: int, key: ApiKey | None = None) -> None:
    """Raises OverBudget if this month's budget of the person, of one of their groups, or of the key is used up."""
    own = budget_of(owner_id)
    _require(own, OF_PERSON)
    if own.is_shared_too:
        for group, budget in shared_budgets(owner_id).items():
            _require(budget, OF_GROUP, group=group)
    if key is not None:
        _require(budget_of_key(key), OF_KEY)


def _require(budget: Budget, refusal: str, **names: str) -> None:
    if limit := budget.reached():
        begins = date_format(next_month(), "DATE_FORMAT")
        raise OverBudget(_(refusal) % {"limit": limit, "day": begins, **names})


def _first[Limit: (int, Decimal)](*limits: Limit | None) -> Limit | None:
    return next((limit for limit in limits if limit is not None), None)
