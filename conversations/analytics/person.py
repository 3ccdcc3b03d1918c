"""Tokens, cost and savings of one person's requests: replies, gateway calls, summaries and background requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from compression import analytics
from compression.days import Days
from compression.models import Compaction
from conversations.analytics import tallies
from conversations.analytics.totals import Tallies, Tally, grouped, merged, total
from conversations.models import ApiKey, GatewayCall

NO_KEY = gettext_noop("a key that is gone")


@dataclass(frozen=True, slots=True)
class Account:
    replies: Tallies
    calls: Tallies
    summaries: Tallies
    errands: Tallies
    keys: dict[int, str]

    @property
    def requests(self) -> Tallies:
        return merged(self.replies, self.calls, self.summaries, self.errands)

    @property
    def total(self) -> Tally:
        return total(self.requests.values())

    @property
    def saved_usd(self) -> Decimal:
        """The worth of the saved tokens, less what summaries cost."""
        return self.total.worth - total(self.summaries.values()).cost

    @property
    def by_model(self) -> list[tuple[str, Tally]]:
        """The totals of each model, the most expensive first."""
        by_model = grouped(self.requests, lambda kind: kind.model)
        return sorted(by_model.items(), key=lambda entry: (-entry[1].cost, -entry[1].prompt, entry[0]))

    @property
    def by_source(self) -> list[tuple[str, Tally]]:
        """The totals of replies, each gateway key, summaries and background requests, where there are any."""
        keys = grouped(self.calls, lambda kind: self.keys.get(kind.key or 0, _(NO_KEY)))
        named = [(_("Gateway, %(key)s") % {"key": name}, tally) for name, tally in sorted(keys.items())]
        replies, summaries, background = (total(of.values()) for of in (self.replies, self.summaries, self.errands))
        sources = [
            (_("Replies"), replies),
            *named,
            (_("Summaries"), summaries),
            (_("Background requests"), background),
        ]
        return [entry for entry in sources if entry[1].requests]

    def by_day(self, days: Days) -> list[tuple[date, Tally]]:
        """The totals of every day, the earliest first."""
        by_day = grouped(self.requests, lambda kind: kind.day)
        return [(day, by_day.get(day, Tally())) for day in days.dates]


def account_of(owner: AbstractBaseUser, days: Days) -> Account:
    """The person's account. It reads only the owner's rows, in a constant number of queries."""
    own = Compaction.objects.filter(conversation__owner_id=owner.pk)
    return Account(
        tallies.replies(days, owner=owner),
        tallies.calls(days, owner=owner),
        tallies.summaries(analytics.runs(own, days)),
        tallies.errands(days, owner=owner),
        dict(ApiKey.objects.filter(user_id=owner.pk).values_list("pk", "name")),
    )


def latest_calls(owner: AbstractBaseUser, days: Days, *, most: int) -> list[GatewayCall]:
    """The person's latest calls of the gateway with their keys, the newest first; one query by an index."""
    own = GatewayCall.objects.filter(owner_id=owner.pk, created_at__gte=days.start).select_related("key")
    return list(own.order_by("-created_at")[:most])
