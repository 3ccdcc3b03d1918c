"""What one person's own requests took, cost and saved: replies, calls of the gateway, summaries, and titles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser

from compression import analytics
from compression.days import Days
from compression.models import Compaction
from conversations.analytics import ledger
from conversations.analytics.totals import Tallies, Tally, grouped, merged, total
from conversations.models import ApiKey

NO_KEY = "a key that is gone"


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
        """The dearest first."""
        found = grouped(self.requests, lambda kind: kind.model)
        return sorted(found.items(), key=lambda entry: (-entry[1].cost, -entry[1].prompt, entry[0]))

    @property
    def by_source(self) -> list[tuple[str, Tally]]:
        """Replies, each key of the gateway, summaries, titles; those that asked for nothing are left out."""
        keys = grouped(self.calls, lambda kind: self.keys.get(kind.key or 0, NO_KEY))
        named = [(f"Gateway, {name}", tally) for name, tally in sorted(keys.items())]
        replies, summaries, titles = (total(of.values()) for of in (self.replies, self.summaries, self.errands))
        found = [("Replies", replies), *named, ("Summaries", summaries), ("Titles", titles)]
        return [entry for entry in found if entry[1].requests]

    def by_day(self, days: Days) -> list[tuple[date, Tally]]:
        """Every day, the first one first."""
        found = grouped(self.requests, lambda kind: kind.day)
        return [(day, found.get(day, Tally())) for day in days.dates]


def account_of(owner: AbstractBaseUser, days: Days) -> Account:
    """Only what is this person's own is read; the number of queries does not depend on how much that is."""
    own = Compaction.objects.filter(conversation__owner_id=owner.pk)
    return Account(
        ledger.replies(days, owner=owner),
        ledger.calls(days, owner=owner),
        ledger.summaries(analytics.runs(own, days)),
        ledger.errands(days, owner=owner),
        dict(ApiKey.objects.filter(user_id=owner.pk).values_list("pk", "name")),
    )
