"""Monthly budgets of people, of the members of groups, and of keys: counted once a request, kept after deletions."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.utils import translation

from compression.core.values import Steering
from conversations import spending
from conversations.api_keys import set_budget
from conversations.compaction import compaction
from conversations.errors import Invalid
from conversations.models import ApiKey, Conversation, GroupBudget, Message, ModelProfile, Spending, User
from conversations.spending import Budget, OverBudget, budget_of, budget_of_key, require_budget
from conversations.turns import turn
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages, one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def text(response: Any) -> str:
    return one_line(response.content.decode())


def month_of(user: User) -> tuple[int, Decimal]:
    row = Spending.objects.get(user=user, key=None)
    return row.tokens, row.usd


def test_the_requests_of_a_month_are_added_up_and_the_next_month_begins_at_nothing(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    spending.count(user.pk, 100, Decimal("0.25"))
    spending.count(user.pk, 20, None)
    spending.count(user.pk, 0, None)
    assert month_of(user) == (120, Decimal("0.25"))
    user.monthly_tokens = 120
    user.save()
    with pytest.raises(OverBudget, match=r"Your budget of this month, 120 tokens, is used up\. The next one begins"):
        require_budget(user.pk)
    with translation.override("de"), pytest.raises(OverBudget, match="Dein Budget dieses Monats, 120 Token, ist"):
        require_budget(user.pk)
    monkeypatch.setattr(spending, "this_month", lambda: date(2031, 1, 1))
    require_budget(user.pk)
    assert spending.next_month() == date(2031, 2, 1)
    assert budget_of(user.pk).used_tokens == 0


def test_one_s_own_budget_comes_before_the_largest_of_one_s_groups_and_that_before_the_site_s(
    user: User, settings: Any
) -> None:
    assert not budget_of(user.pk).is_limited
    settings.MONTHLY_TOKENS_PER_USER, settings.MONTHLY_USD_PER_USER = 1_000, 2.5
    assert (budget_of(user.pk).tokens, budget_of(user.pk).usd) == (1_000, Decimal("2.5"))
    for name, tokens in (("small", 10), ("large", 5_000)):
        group = Group.objects.create(name=name)
        GroupBudget.objects.create(group=group, monthly_tokens=tokens)
        user.groups.add(group)
    assert (budget_of(user.pk).tokens, budget_of(user.pk).usd) == (5_000, Decimal("2.5"))
    user.monthly_tokens = 7
    user.save()
    assert budget_of(user.pk).tokens == 7


def test_dollars_are_a_limit_of_their_own(user: User) -> None:
    User.objects.filter(pk=user.pk).update(monthly_usd=Decimal("5.00"))
    spending.count(user.pk, 10**9, Decimal("4.999999"))
    require_budget(user.pk)
    spending.count(user.pk, 1, Decimal("0.000001"))
    with pytest.raises(OverBudget, match=r"\$5\.00"):
        require_budget(user.pk)


@pytest.mark.parametrize(
    ("budget", "share"),
    [
        (Budget(None, None, 9), 0.0),
        (Budget(100, None, 25), 0.25),
        (Budget(100, Decimal(2), 25, Decimal("1.5")), 0.75),
        (Budget(0, None, 0), 1.0),
        (Budget(10, None, 30), 1.0),
    ],
)
def test_the_share_is_that_of_the_limit_that_is_nearest(budget: Budget, share: float) -> None:
    assert budget.share == share


def test_a_key_counts_its_own_calls_beside_those_of_its_person(user: User) -> None:
    key, other = (ApiKey.make(user, name)[0] for name in ("one", "other"))
    spending.count(user.pk, 100, Decimal(1), key_id=key.pk)
    spending.count(user.pk, 50, Decimal(1), key_id=other.pk)
    assert month_of(user) == (150, Decimal(2))
    key = set_budget(user, key.pk, tokens="100", usd="")
    require_budget(user.pk, other)
    with pytest.raises(OverBudget, match="The budget of this key for this month, 100 tokens"):
        require_budget(user.pk, key)
    assert budget_of_key(set_budget(user, key.pk, tokens="", usd="9.50")).used_usd == 1
    require_budget(user.pk, set_budget(user, key.pk, tokens=" 1,000 ", usd="9.50"))


@pytest.mark.parametrize(
    ("typed", "dollars"), [("2.50", "2.50"), ("2,50", "2.50"), ("1,000", "1000"), ("1,000.50", "1000.50"), (" 7 ", "7")]
)
def test_a_comma_is_a_decimal_point_unless_it_stands_between_thousands(user: User, typed: str, dollars: str) -> None:
    key, _ = ApiKey.make(user, "one")
    assert set_budget(user, key.pk, tokens="", usd=typed).monthly_usd == Decimal(dollars)


@pytest.mark.parametrize(
    ("tokens", "usd", "field"),
    [
        ("x", "", "monthly_tokens"),
        ("-1", "", "monthly_tokens"),
        ("1,5", "", "monthly_tokens"),
        ("9" * 20, "", "monthly_tokens"),
        ("", "1.234", "monthly_usd"),
        ("", "nan", "monthly_usd"),
    ],
)
def test_a_budget_that_cannot_be_one_is_refused_with_its_field(user: User, tokens: str, usd: str, field: str) -> None:
    key, _ = ApiKey.make(user, "one")
    with pytest.raises(Invalid) as refusal:
        set_budget(user, key.pk, tokens=tokens, usd=usd)
    assert refusal.value.detail["field"] == field
    key.refresh_from_db()
    assert (key.monthly_tokens, key.monthly_usd) == (None, None)


def test_a_message_beyond_the_budget_is_refused_before_it_is_stored(conversation: Conversation, user: User) -> None:
    api, path = Api(user), f"/api/conversations/{conversation.pk}/messages"
    User.objects.filter(pk=user.pk).update(monthly_tokens=10)
    spending.count(user.pk, 10, None)
    refused = api.post(path, {"content": "More?"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (402, "insufficient_quota")
    assert not Message.objects.exists()
    with pytest.raises(OverBudget):
        compaction.request(conversation, trigger="manual", steering=Steering())
    report = api.get("/api/usage").json()["budget"]
    assert (report["tokens"], report["used_tokens"], report["usd"]) == (10, 10, None)


@pytest.mark.django_db(transaction=True)
async def test_a_reply_is_counted_and_keeps_counting_when_its_chat_is_deleted(chat: Chat, user: User) -> None:
    await ModelProfile.objects.aupdate(price_input=Decimal(2), price_output=Decimal(8))
    reply = await chat.say("which port?")
    tokens = reply.prompt_tokens + reply.completion_tokens
    row = await Spending.objects.aget(user=user)
    assert (row.tokens, row.usd) == (tokens, reply.cost_usd) and row.usd > 0
    await chat.conversation.adelete()
    assert (await Spending.objects.aget(user=user)).tokens == tokens


@pytest.mark.django_db(transaction=True)
async def test_a_request_that_follows_on_within_a_turn_stops_at_the_budget(chat: Chat, user: User) -> None:
    await chat.say("which port?")
    question = await Message.objects.aget(role="user")
    await User.objects.filter(pk=user.pk).aupdate(monthly_tokens=1)
    asked = len(chat.llm.received)
    old = await Message.objects.aget(role="assistant")
    await Message.objects.filter(pk=old.pk).aupdate(status="failed")
    again = await sync_to_async(turn.retry)(chat.conversation, old.pk)
    reply = await chat.ended(again.pk)
    assert (reply.status, reply.error_code) == ("failed", "insufficient_quota")
    assert "1 token," in reply.error and len(chat.llm.received) == asked
    assert await Message.objects.filter(pk=question.pk).aexists()


def test_the_usage_page_shows_the_budget_and_the_settings_those_of_keys(pages: Pages, user: User) -> None:
    assert "Budget of this month" not in text(pages.get("usage"))
    User.objects.filter(pk=user.pk).update(monthly_tokens=2_000, monthly_usd=5)
    key, _ = ApiKey.make(user, "nightly")
    spending.count(user.pk, 1_500, Decimal("1.25"), key_id=key.pk)
    shown = text(pages.get("usage"))
    assert "Budget of this month" in shown and "1,500 of 2,000 tokens" in shown and "of $5" in shown
    assert "No monthly budget" in text(pages.get("settings"))
    saved = pages.post("key_budget", key.pk, monthly_tokens="3000", monthly_usd="")
    assert saved.status_code == 200 and "The budget of “nightly” is saved." in text(saved)
    assert "1,500 of 3,000 tokens this month" in text(saved)
    refused = pages.post("key_budget", key.pk, monthly_tokens="many", monthly_usd="")
    assert refused.status_code == 400 and 'value="many"' in refused.content.decode()
    below = pages.post("key_budget", key.pk, monthly_tokens="", monthly_usd="-1")
    key.refresh_from_db()
    assert (below.status_code, key.monthly_tokens, key.monthly_usd) == (400, 3_000, None)
    assert pages.post("key_budget", key.pk + 99, monthly_tokens="1").status_code == 404


def test_a_group_shares_a_budget_of_all_its_members(user: User, django_assert_num_queries: Any) -> None:
    other, outsider = (User.objects.create_user(name) for name in ("other", "outsider"))
    group, without = Group.objects.create(name="Research"), Group.objects.create(name="Sales")
    GroupBudget.objects.create(group=group, shared_tokens=100)
    GroupBudget.objects.create(group=without, monthly_tokens=1_000)
    for member in (user, other):
        member.groups.add(group, without)
    spending.count(user.pk, 40, Decimal(1))
    spending.count(outsider.pk, 500, Decimal(5))
    key = ApiKey.make(other, "one")[0]
    spending.count(other.pk, 59, Decimal(2), key_id=key.pk)
    assert spending.shared_budgets(user.pk) == {"Research": Budget(100, None, 99, Decimal(3))}
    assert spending.shared_budgets(outsider.pk) == {}
    with django_assert_num_queries(2):
        require_budget(user.pk)
    spending.count(other.pk, 1, None)
    for member in (user, other):
        with pytest.raises(OverBudget, match="that the members of Research share, 100 tokens, is used up"):
            require_budget(member.pk)
    with django_assert_num_queries(1):
        require_budget(outsider.pk)
    GroupBudget.objects.filter(group=group).update(shared_tokens=None, shared_usd=Decimal("3.00"))
    with pytest.raises(OverBudget, match=r"share, \$3\.00, is used up"):
        require_budget(user.pk)
    other.groups.remove(group)
    require_budget(user.pk)
