"""Queries the tokens, cost and savings of replies, gateway calls and summaries. docs/analytics.md defines each figure.

The database adds rows up by ranges of their ids, which are ordered by time, so no table is read whole. Imported
messages carry no usage and are no requests. Copied messages carry their originals' usage, which counts once.
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

SAMPLE_SIZE = 20_000
"""The most requests from which percentiles are computed; about this number of a larger set."""
PARTS = 256
"""The number of possible last two hexadecimal digits of an id; a sample takes the ids with some of them."""
PRICES = ("name", "price_input", "price_output", "price_cached")
NOT_COPIED = Q(copy_of=None)
"""Selects messages that are not copies."""
REQUESTED_HERE = NOT_COPIED & (
    Q(prompt_tokens__isnull=False) | Q(duration_ms__isnull=False) | Q(status=Message.Status.FAILED)
)
"""Selects replies that this site requested of a model."""


class ReplyTime(NamedTuple):
    """The time that one reply took, in milliseconds."""

    day: date
    model: str
    ms: int
    first_ms: int | None


def replies(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """The totals of finished replies, of everybody or of one person."""
    unknown = When(status=Message.Status.FAILED, error_code="", then=Value(OTHER))
    failed = When(status=Message.Status.FAILED, then=F("error_code"))
    reason = Case(unknown, failed, default=Value(""), output_field=CharField())
    rows = _finished_replies(days, owner).annotate(key_=Value(None, IntegerField()), reason_=reason)
    return _totals(rows, days, saved=F("saved_tokens"))


def calls(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """The totals of gateway calls; `reason` is their error code."""
    rows = GatewayCall.objects.filter(_rows_of(days, owner))
    refused = When(status__gte=400, error="", then=Cast("status", CharField()))
    less = When(tokens_before__gt=F("tokens_after"), then=F("tokens_before") - F("tokens_after"))
    reason = Case(refused, default=F("error"), output_field=CharField())
    saved = Case(less, default=Value(0), output_field=IntegerField())
    return _totals(rows.order_by().annotate(key_=F("key_id"), reason_=reason), days, saved=saved)


def errands(days: Days, *, owner: AbstractBaseUser | None = None) -> Tallies:
    """The totals of the site's own requests to models: titles."""
    rows = Errand.objects.filter(_rows_of(days, owner)).order_by()
    nothing = {"key_": Value(None, IntegerField()), "reason_": Value("", CharField())}
    return _totals(rows.annotate(**nothing), days, saved=Value(0, IntegerField()))


def summaries(runs: Iterable[Run]) -> Tallies:
    """The totals of requests for summaries; compactions without a model's request are left out."""
    by_kind = defaultdict[Kind, list[Run]](list)
    for run in runs:
        if run.prompt or run.cost:
            by_kind[Kind(run.day, run.paid, None, "")].append(run)
    return {kind: _summary_total(several) for kind, several in by_kind.items()}


def _summary_total(runs: list[Run]) -> Tally:
    return Tally(
        requests=len(runs),
        prompt=sum(run.prompt for run in runs),
        cached=sum(run.cached for run in runs),
        completion=sum(run.completion for run in runs),
        cost=sum((run.cost for run in runs if run.cost), Decimal(0)),
        unpriced=sum(run.cost is None for run in runs),
    )


def waits(days: Days, *, of: int) -> list[ReplyTime]:
    """The times of complete replies. Of more than SAMPLE_SIZE replies (`of` is their number) a random share is read.

    The random last digits of their ids choose the share, so each call reads the same replies.
    """
    chosen = Message.objects.filter(**_id_range(days))
    if of > SAMPLE_SIZE:
        part = PARTS * SAMPLE_SIZE // of
        chosen = chosen.annotate(last=Right(Cast("id", TextField()), 2)).filter(last__lt=f"{max(1, part):02x}")
    rows = Message.objects.filter(NOT_COPIED, **_id_range(days), pk__in=chosen.order_by().values("pk"))
    rows = rows.filter(role=Message.Role.ASSISTANT, status=Message.Status.COMPLETE, duration_ms__isnull=False)
    times = rows.order_by().values_list("id", "model", "duration_ms", "first_token_ms")[: 2 * SAMPLE_SIZE]
    return [ReplyTime(day_of(id), model, ms or 0, first_ms) for id, model, ms, first_ms in times]


def storage(owner: AbstractBaseUser) -> dict[str, int]:
    """The numbers of a person's conversations and messages. Executors' messages count, their conversations do not."""
    own = Conversation.objects.filter(owner_id=owner.pk).exclude(kind=Conversation.Kind.EXECUTOR)
    messages = Message.objects.filter(conversation__owner_id=owner.pk)
    return {"conversations": own.count(), "messages": messages.count()}


def _finished_replies(days: Days, owner: AbstractBaseUser | None) -> QuerySet[Message]:
    """Finished replies. A person's replies are those in conversations changed since the first day.

    Rows dated ahead are assigned to days by their ids, which hold the time of the request.
    """
    rows = Message.objects.filter(REQUESTED_HERE, role=Message.Role.ASSISTANT).exclude(status=Message.Status.STREAMING)
    if owner is None:
        return rows.filter(**_id_range(days)).order_by()
    own = Conversation.objects.filter(owner_id=owner.pk, updated_at__gte=days.start)
    return rows.filter(conversation__in=own, created_at__gte=days.start).order_by()


def _rows_of(days: Days, owner: AbstractBaseUser | None) -> Q:
    """Selects everybody's rows by their ids, or one person's by date, which the index on the owner supports."""
    if owner is None:
        return Q(**_id_range(days))
    return Q(owner_id=owner.pk, created_at__gte=days.start, created_at__lt=days.end)


def _id_range(days: Days) -> dict[str, UUID]:
    first, *_, end = days.bounds
    return {"id__gte": first, "id__lt": end}


def _totals[Row: Model](rows: QuerySet[Row], days: Days, *, saved: Expression | F) -> Tallies:
    """The totals of the rows, in one query that groups by day, model, key, reason and whether the cost is known."""
    by_share = Cast(F("saved"), FloatField()) * F("cached_tokens") / NullIf(F("prompt_tokens"), 0)
    sums = (
        rows.annotate(saved=saved, day=_day_index(days), priced=Q(cost_usd__isnull=False))
        .values_list("day", "model", "key_", "reason_", "priced")
        .annotate(
            Count("pk"), Sum("prompt_tokens"), Sum("cached_tokens"), Sum("completion_tokens"), Sum("cost_usd"),
            Sum("saved"), saved_as_cached=Sum(by_share, output_field=FloatField()),
        )
    )  # fmt: skip
    prices = {profile.name: profile for profile in ModelProfile.objects.only(*PRICES)}
    dates, tallies = dict(enumerate(days.dates)), defaultdict[Kind, Tally](Tally)
    for number, model, key, reason, priced, *figures in sums:
        if number in dates:
            numbers: list[Any] = [figure or 0 for figure in figures]
            tally = _tally(prices.get(model), bool(reason), priced, *numbers)
            tallies[Kind(dates[number], model, key, reason)] += tally
    return dict(tallies)


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
    """The totals of one group. `saved_as_cached`: saved tokens times the cached share of each request's prompt."""
    saved = 0 if failed else saved
    unpriced = 0 if priced or not (prompt or completion) else count
    worth = None
    if priced and profile is not None:
        now = profile.cost(prompt=prompt, cached=cached, completion=completion)
        full = profile.cost(prompt=saved, cached=round(saved_as_cached), completion=0)
        if now is not None and full is not None:
            # Prices may have changed since; the amount paid gives the ratio.
            worth = full * (Decimal(cost) / now if now else 1)
    requests = Tally(count, count if failed else 0, prompt, cached, completion, Decimal(cost), unpriced, saved)
    return requests + (Tally(saved_unpriced=saved) if worth is None else Tally(worth=Decimal(worth)))


def _day_index(days: Days) -> Expression:
    """The index of the day in which a row's id was made, from 0, by bisection: few comparisons for each row."""
    bounds = days.bounds

    def between(low: int, high: int) -> Expression:
        if high - low == 1:
            return Value(low - 1, IntegerField())
        middle = (low + high) // 2
        earlier = When(id__lt=bounds[middle - 1], then=between(low, middle))
        return Case(earlier, default=between(middle, high), output_field=IntegerField())

    return between(0, len(bounds) + 1)
