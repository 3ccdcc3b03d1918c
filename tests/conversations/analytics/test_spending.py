from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compression import analytics
from compression.days import Days
from compression.models import Compaction
from conversations.analytics import person, tallies
from conversations.analytics.totals import Kind, Tally, grouped, total
from conversations.models import ApiKey, Conversation, GatewayCall, Message, ModelProfile, User
from tests.conversations.chat import fill
from tests.conversations.plans import plans
from tests.conversations.spent import NOON, call, failed, reply, run

pytestmark = pytest.mark.once

DAYS = Days.until(NOON.date(), 3)


@pytest.fixture
def priced(profile: ModelProfile) -> ModelProfile:
    """A million tokens cost 2 dollars fresh, 1 cached, and 8 where they are written."""
    profile.price_input, profile.price_cached, profile.price_output = Decimal(2), Decimal(1), Decimal(8)
    profile.save()
    return profile


def by_day(of: Any) -> list[int]:
    found = grouped(of, lambda kind: kind.day)
    return [found.get(day, Tally()).requests for day in DAYS.dates]


def test_replies_count_on_the_day_that_they_were_asked_for_in_utc(conversation: Conversation) -> None:
    for at in (DAYS.start - timedelta(milliseconds=1), DAYS.start, DAYS.end - timedelta(milliseconds=1), DAYS.end):
        reply(conversation, at)
    assert by_day(tallies.replies(DAYS)) == [1, 0, 1]
    assert by_day(tallies.replies(DAYS, owner=conversation.owner)) == [1, 0, 1]


def test_a_reply_to_a_conversation_that_is_dated_ahead_counts_when_it_was_asked_for(conversation: Conversation) -> None:
    reply(conversation, NOON, created_at=NOON + timedelta(days=400))
    reply(conversation, NOON - timedelta(days=30), created_at=NOON)
    assert by_day(tallies.replies(DAYS)) == [0, 0, 1]
    assert by_day(tallies.replies(DAYS, owner=conversation.owner)) == [0, 0, 1]


def test_what_was_imported_or_is_being_written_is_no_request(conversation: Conversation) -> None:
    fill(conversation, 10)
    nothing = dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens"))
    reply(conversation, **nothing)
    reply(conversation, NOON + timedelta(seconds=1), status="streaming")
    reply(conversation, NOON + timedelta(seconds=2), role="user")
    assert tallies.replies(DAYS) == {}


def test_tokens_and_costs_are_added_up_by_day_and_model(conversation: Conversation) -> None:
    reply(conversation, cached_tokens=400, cost_usd=Decimal("0.001"), saved_tokens=50)
    reply(conversation, NOON + timedelta(hours=1), cost_usd=Decimal("0.002"), saved_tokens=7)
    reply(conversation, model="other")
    found = tallies.replies(DAYS)
    assert found[Kind(NOON.date(), "scripted", None, "")] == Tally(
        requests=2, prompt=2_000, cached=400, completion=200, cost=Decimal("0.003"), saved=57, saved_unpriced=57
    )
    assert found[Kind(NOON.date(), "other", None, "")].unpriced == 1


@pytest.mark.parametrize(("cached", "worth"), [(0, "0.006"), (1_000, "0.003"), (500, "0.0045")])
def test_saved_tokens_are_worth_what_their_request_paid_for_its_prompt_cached_ones_included(
    conversation: Conversation, priced: ModelProfile, cached: int, worth: str
) -> None:
    cost = priced.cost(prompt=1_000, cached=cached, completion=100)
    reply(conversation, cached_tokens=cached, cost_usd=cost, saved_tokens=3_000)
    (found,) = tallies.replies(DAYS).values()
    assert (found.saved, found.worth, found.saved_unpriced) == (3_000, Decimal(worth), 0)


def test_each_request_counts_at_its_own_share_of_cached_tokens(
    conversation: Conversation, priced: ModelProfile
) -> None:
    for minute, (cached, saved) in enumerate(((0, 1_000), (1_000, 5_000))):
        cost = priced.cost(prompt=1_000, cached=cached, completion=100)
        reply(conversation, NOON + timedelta(minutes=minute), cached_tokens=cached, cost_usd=cost, saved_tokens=saved)
    (found,) = tallies.replies(DAYS).values()
    assert found.worth == Decimal("0.002") + Decimal("0.005")


def test_prices_that_have_changed_since_do_not_change_what_was_saved(
    conversation: Conversation, priced: ModelProfile
) -> None:
    reply(conversation, cost_usd=priced.cost(prompt=1_000, cached=0, completion=100), saved_tokens=3_000)
    priced.price_input, priced.price_cached, priced.price_output = Decimal(4), Decimal(2), Decimal(16)
    priced.save()
    (found,) = tallies.replies(DAYS).values()
    assert found.worth == Decimal("0.006")


def test_without_a_price_neither_cost_nor_worth_is_known_and_both_are_counted_apart(
    conversation: Conversation,
) -> None:
    reply(conversation, saved_tokens=3_000)
    (found,) = tallies.replies(DAYS).values()
    assert (found.cost, found.unpriced, found.worth, found.saved_unpriced) == (0, 1, 0, 3_000)


def test_a_model_that_costs_nothing_saves_nothing_which_is_known(conversation: Conversation, priced: Any) -> None:
    priced.price_input = priced.price_cached = priced.price_output = Decimal(0)
    priced.save()
    reply(conversation, cost_usd=Decimal(0), saved_tokens=3_000)
    (found,) = tallies.replies(DAYS).values()
    assert (found.worth, found.saved_unpriced, found.unpriced) == (0, 0, 0)


def test_a_reply_that_failed_has_a_reason_and_saves_nothing(conversation: Conversation) -> None:
    failed(conversation, "scripted: too many requests for the provider (429). Try again.", code="rate_limited")
    failed(conversation, "scripted: 42 is the answer.", NOON + timedelta(minutes=1))
    Message.objects.update(saved_tokens=9_000)
    found = tallies.replies(DAYS)
    assert {kind.reason: tally.failed for kind, tally in found.items()} == {"rate_limited": 1, "other": 1}
    assert total(found.values()).saved == 0


def test_calls_of_the_gateway_save_what_was_not_forwarded(user: User, priced: ModelProfile) -> None:
    key, _ = ApiKey.make(user, "nightly")
    call(user, key=key, cost_usd=priced.cost(prompt=1_000, cached=0, completion=100))
    call(user, tokens_before=900, tokens_after=1_000)
    call(user, status=429, error="rate_limited", tokens_before=9_000, tokens_after=0)
    call(user, status=502)
    found = tallies.calls(DAYS)
    assert {(kind.key, kind.reason) for kind in found} == {
        (key.pk, ""),
        (None, ""),
        (None, "rate_limited"),
        (None, "502"),
    }
    together = total(found.values())
    assert (together.requests, together.failed, together.saved) == (4, 2, 4_000)
    assert together.worth == Decimal("0.008")


def test_summaries_are_requests_of_the_model_that_wrote_them(conversation: Conversation) -> None:
    run(conversation, prompt_tokens=500, completion_tokens=50, cached_tokens=100, cost_usd=Decimal("0.01"))
    run(conversation, prompt_tokens=500, status="discarded")
    run(conversation, summariser="extractive")
    found = tallies.summaries(analytics.runs(Compaction.objects.all(), DAYS))
    assert found == {Kind(NOON.date(), "fast", None, ""): Tally(2, 0, 1_000, 100, 50, Decimal("0.01"), 1)}


def test_an_account_holds_nothing_of_another_persons(conversation: Conversation, user: User) -> None:
    other = User.objects.create_user("mallory")
    theirs = Conversation.objects.create(owner=other)
    reply(theirs)
    call(other)
    run(theirs, prompt_tokens=500)
    fill(theirs, 3)
    assert person.account_of(user, DAYS).total == Tally()
    assert person.account_of(other, DAYS).total.requests == 3
    assert tallies.storage(user) == {"conversations": 1, "messages": 0}
    assert tallies.storage(other) == {"conversations": 1, "messages": 4}


def test_an_account_tells_its_keys_apart(conversation: Conversation, user: User) -> None:
    for name in ("nightly", "editor"):
        call(user, key=ApiKey.make(user, name)[0])
    call(user)
    reply(conversation)
    found = person.account_of(user, DAYS)
    assert [name for name, _ in found.by_source] == [
        "Replies", "Gateway, a key that is gone", "Gateway, editor", "Gateway, nightly",
    ]  # fmt: skip


def test_times_are_of_whole_replies(conversation: Conversation) -> None:
    reply(conversation, duration_ms=900, first_token_ms=100)
    reply(conversation, duration_ms=5, status="stopped")
    reply(conversation, NOON - timedelta(days=9), duration_ms=7)
    (found,) = tallies.waits(DAYS, of=2)
    assert (found.day, found.model, found.ms, found.first_ms) == (NOON.date(), "scripted", 900, 100)


def test_of_many_times_a_share_is_looked_at_that_is_the_same_each_time(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        reply(conversation, NOON + timedelta(milliseconds=number), duration_ms=number)
    monkeypatch.setattr(tallies, "SAMPLE_SIZE", 50)
    found = tallies.waits(DAYS, of=200)
    assert 20 < len(found) < 90
    assert sorted(found) == sorted(tallies.waits(DAYS, of=200))


def test_no_query_of_the_figures_reads_all_messages(conversation: Conversation) -> None:
    many = Conversation.objects.bulk_create(Conversation(owner=conversation.owner) for _ in range(20))
    for one in many:
        fill(one, 200, words=1)
    reply(conversation)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as ran:
        answered = len(tallies.replies(DAYS))
        tallies.calls(DAYS)
        tallies.waits(DAYS, of=answered)
        tallies.waits(DAYS, of=10 * tallies.SAMPLE_SIZE)
        analytics.runs(Compaction.objects.all(), DAYS)
        person.account_of(conversation.owner, DAYS)
    found = plans(ran)
    assert len(found) > 8
    for plan in found:
        assert "SCAN conversations_message" not in plan, plan
        assert "Seq Scan on conversations_message" not in plan, plan
    assert GatewayCall.objects.count() == 0
