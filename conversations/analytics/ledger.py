"""What replies, calls of the gateway and summaries took, cost and saved. docs/analytics.md defines each figure.

Rows are added up in the database, by ranges of their keys: ids are ordered by time, and no table is read whole. Those
that were imported carry no usage, and are no requests; copies carry that of their originals, which counts there alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import (
    Case,
    CharField,
    Count,
    Expression,
    F,
    FloatField,
    IntegerField,
    Model,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, NullIf, Right

from compression.analytics import OTHER, Run
from compression.days import Days, day_of
from conversations.analytics.totals import Kind, Tallies, Tally
from conversations.models import Conversation, Errand, GatewayCall, Message, ModelProfile

SAMPLE = 20_000
"""Requests that percentiles are computed from, at most (about, where there are more)."""
PARTS = 256
"""How many ends an id can have, of two hexadecimal digits: a sample is of the ids with some of them."""
PRICES = ("name", "price_input", "price_output", "price_cached")
HERE = Q(copy_of=None)
"""Messages that are no copies."""
ASKED = HERE & (Q(prompt_tokens__isnull=False) | Q(duration_ms__isnull=False) | Q(status=Message.Status.FAILED))
"""Replies that were asked of a model here."""


class Wait(NamedTuple):
    """How long one reply took."""

    day: date
    model: str
    ms: int
    first_ms: int | None


def replies(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """Replies that have ended, of everybody or of one person."""
    unknown = When(status=Message.Status.FAILED, error_code="", then=Value(OTHER))
    failed = When(status=Message.Status.FAILED, then=F("error_code"))
    reason = Case(unknown, failed, default=Value(""), output_field=CharField())
    rows = _ended(days, owner).annotate(key_=Value(None, IntegerField()), reason_=reason)
    return _added(rows, days, saved=F("saved_tokens"))


def calls(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """Calls of the gateway; `reason` is the code of their error."""
    rows = GatewayCall.objects.filter(_of(days, owner))
    refused = When(status__gte=400, error="", then=Cast("status", CharField()))
    less = When(tokens_before__gt=F("tokens_after"), then=F("tokens_before") - F("tokens_after"))
    reason = Case(refused, default=F("error"), output_field=CharField())
    saved = Case(less, default=Value(0), output_field=IntegerField())
    return _added(rows.order_by().annotate(key_=F("key_id"), reason_=reason), days, saved=saved)


def errands(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """What the site asked models for beside: titles."""
    rows = Errand.objects.filter(_of(days, owner)).order_by()
    nothing = {"key_": Value(None, IntegerField()), "reason_": Value("", CharField())}
    return _added(rows.annotate(**nothing), days, saved=Value(0, IntegerField()))


def summaries(runs: Iterable[Run]) -> Tallies:
    """What models were paid for summaries; those that needed none are no requests."""
    found = defaultdict[Kind, list[Run]](list)
    for run in runs:
        if run.prompt or run.cost:
            found[Kind(run.day, run.paid, None, "")].append(run)
    return {kind: _paid(several) for kind, several in found.items()}


def _paid(runs: list[Run]) -> Tally:
    return Tally(
        requests=len(runs),
        prompt=sum(run.prompt for run in runs),
        cached=sum(run.cached for run in runs),
        completion=sum(run.completion for run in runs),
        cost=sum((run.cost for run in runs if run.cost), Decimal(0)),
        unpriced=sum(run.cost is None for run in runs),
    )


def waits(days: Days, *, of: int) -> list[Wait]:
    """How long whole replies took. Of more than SAMPLE (`of` says how many) a share, chosen by their ids' last digits,
    which are random: the same ones each time."""
    chosen = Message.objects.filter(**_between(days))
    if of > SAMPLE:
        part = PARTS * SAMPLE // of
        chosen = chosen.annotate(last=Right(Cast("id", TextField()), 2)).filter(last__lt=f"{max(1, part):02x}")
    rows = Message.objects.filter(HERE, **_between(days), pk__in=chosen.order_by().values("pk"))
    rows = rows.filter(role=Message.Role.ASSISTANT, status=Message.Status.COMPLETE, duration_ms__isnull=False)
    found = rows.order_by().values_list("id", "model", "duration_ms", "first_token_ms")[: 2 * SAMPLE]
    return [Wait(day_of(id), model, ms or 0, first_ms) for id, model, ms, first_ms in found]


def storage(owner: AbstractBaseUser) -> dict[str, int]:
    """How many conversations a person has, and messages in them, those of executors among these."""
    own = Conversation.objects.filter(owner_id=owner.pk).exclude(kind=Conversation.Kind.EXECUTOR)
    messages = Message.objects.filter(conversation__owner_id=owner.pk)
    return {"conversations": own.count(), "messages": messages.count()}


def _ended(days: Days, owner: AbstractBaseUser | None) -> QuerySet[Message]:
    """A person's are found by their conversations: those alone that were used since. Of what is dated ahead only the
    id says when it was asked for."""
    rows = Message.objects.filter(ASKED, role=Message.Role.ASSISTANT).exclude(status=Message.Status.STREAMING)
    if owner is None:
        return rows.filter(**_between(days)).order_by()
    own = Conversation.objects.filter(owner_id=owner.pk, updated_at__gte=days.start)
    return rows.filter(conversation__in=own, created_at__gte=days.start).order_by()


def _of(days: Days, owner: AbstractBaseUser | None) -> Q:
    """Rows of everybody by their keys, of one person by their dates, as the index of their owners has them."""
    if owner is None:
        return Q(**_between(days))
    return Q(owner_id=owner.pk, created_at__gte=days.start, created_at__lt=days.end)


def _between(days: Days) -> dict[str, UUID]:
    first, *_, end = days.bounds
    return {"id__gte": first, "id__lt": end}


def _added[Row: Model](rows: QuerySet[Row], days: Days, *, saved: Expression | F) -> Tallies:
    """One query: a row for each day, model, key and reason, and for each of those with and without a known cost."""
    by_share = Cast(F("saved"), FloatField()) * F("cached_tokens") / NullIf(F("prompt_tokens"), 0)
    sums = (
        rows.annotate(saved=saved, day=_number_of(days), priced=Q(cost_usd__isnull=False))
        .values_list("day", "model", "key_", "reason_", "priced")
        .annotate(
            Count("pk"), Sum("prompt_tokens"), Sum("cached_tokens"), Sum("completion_tokens"), Sum("cost_usd"),
            Sum("saved"), saved_as_cached=Sum(by_share, output_field=FloatField()),
        )
    )  # fmt: skip
    prices = {profile.name: profile for profile in ModelProfile.objects.only(*PRICES)}
    dates, found = dict(enumerate(days.dates)), defaultdict[Kind, Tally](Tally)
    for number, model, key, reason, priced, *figures in sums:
        if number in dates:
            numbers: list[Any] = [figure or 0 for figure in figures]
            tally = _tally(prices.get(model), bool(reason), priced, *numbers)
            found[Kind(dates[number], model, key, reason)] += tally
    return dict(found)


def _tally(
    profile: ModelProfile | None,
    failed: bool,
    priced: bool,
    count: int,
    prompt: int,
    cached: int,
    completion: int,
    cost: Decimal,
    saved: int,
    saved_as_cached: float,
) -> Tally:
    """`saved_as_cached`: the saved tokens, each request's at the share of its prompt that was cached."""
    saved = 0 if failed else saved
    unpriced = 0 if priced or not (prompt or completion) else count
    worth = None
    if priced and profile is not None:
        now = profile.cost(prompt=prompt, cached=cached, completion=completion)
        full = profile.cost(prompt=saved, cached=round(saved_as_cached), completion=0)
        if now is not None and full is not None:
            # Prices may have changed since: what was paid says by how much.
            worth = full * (Decimal(cost) / now if now else 1)
    requests = Tally(count, count if failed else 0, prompt, cached, completion, Decimal(cost), unpriced, saved)
    return requests + (Tally(saved_unpriced=saved) if worth is None else Tally(worth=Decimal(worth)))


def _number_of(days: Days) -> Expression:
    """Which of the days a row's id was made in, from 0: bisected, so that a row takes a few comparisons."""
    bounds = days.bounds

    def between(low: int, high: int) -> Expression:
        if high - low == 1:
            return Value(low - 1, IntegerField())
        middle = (low + high) // 2
        earlier = When(id__lt=bounds[middle - 1], then=between(low, middle))
        return Case(earlier, default=between(middle, high), output_field=IntegerField())

    return between(0, len(bounds) + 1)
