from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.models import ApiKey, Conversation, User
from tests.conversations.api_client import Api, refused
from tests.conversations.pages import Pages
from tests.conversations.plans import plans
from tests.conversations.spent import call, failed, reply, run


def today() -> datetime:
    return datetime.now(UTC)


def lived(conversation: Conversation, *, count: int = 1) -> None:
    owner = conversation.owner
    key, _ = ApiKey.make(owner, "nightly")
    for number in range(count):
        at = today() - timedelta(days=number % 20, seconds=number)
        reply(conversation, at, cached_tokens=400, cost_usd=Decimal("0.0125"), saved_tokens=3_000)
        failed(conversation, "it broke", at - timedelta(seconds=1))
        call(owner, at, key=key)
        run(conversation, at, prompt_tokens=500, completion_tokens=50, cost_usd=Decimal("0.002"))


def test_a_new_account_is_told_what_will_be_here(user: User) -> None:
    html = Pages(user).get("usage").content.decode()
    assert "No requests on these days." in html
    assert "chart-box" not in html


def test_the_page_shows_tokens_cost_and_what_was_saved(user: User, conversation: Conversation) -> None:
    lived(conversation)
    html = Pages(user).get("usage").content.decode()
    figures = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>\s*(.*?)\s*</dd>", html))
    assert figures == {
        "Tokens": "2.75k", "Cost": "$0.0145", "Saved tokens": "7k", "Saved money": "−$0.0020", "Stored": "2",
    }  # fmt: skip
    for row in ("Replies", "Gateway, nightly", "Summaries", "scripted", "fast", today().date().isoformat()):
        assert f'<th scope="row">{row}</th>' in html
    assert "1 of 4 requests have no known price" in html
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| onclick=", html)


def test_this_month_begins_with_its_first_day(user: User, conversation: Conversation) -> None:
    reply(conversation, today().replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    reply(conversation, today().replace(day=1, hour=0, minute=0) - timedelta(days=1))
    html = Pages(user).get("usage", period="month").content.decode()
    assert f"{today():%Y-%m}-01 to {today():%Y-%m-%d}" in html
    assert "<td>1</td>" in html
    assert Pages(user).get("usage", period="nonsense").status_code == 200


def test_nobody_sees_anothers_figures_not_even_an_administrator(conversation: Conversation) -> None:
    lived(conversation)
    root = User.objects.create_superuser("root", password="correct horse battery")
    html = Pages(root).get("usage").content.decode()
    assert "No requests on these days" in html
    told = Api(root).get("/api/usage").json()
    assert (told["total"]["requests"], told["storage"]) == (0, {"conversations": 0, "messages": 0})


def test_the_latest_calls_of_programs_are_listed_with_what_was_done_to_them(user: User) -> None:
    key, _ = ApiKey.make(user, "nightly")
    other = User.objects.create_user("bob")
    call(other, today(), model="bobs-model")
    call(user, today(), key=key, is_compacted=True, duration_ms=1_234)
    call(user, today() - timedelta(seconds=5), status=429, error="provider_rate_limited", tokens_after=5_000)
    for number in range(60):
        call(user, today() - timedelta(minutes=1 + number), model=f"old-{number}")
    html = Pages(user).get("usage").content.decode()
    table = html[html.index("Latest calls of programs") :]
    first, second = (re.sub(r"<[^>]+>|\s+", " ", row) for row in table.split("<tr>")[2:4])
    assert re.search(r"nightly +scripted +5,000 +1,000 +made now +100 +1,234 ms +200", first)
    assert re.search(r"a key that is gone +scripted +5,000 +5,000 +none +100 +429 provider_rate_limited", second)
    assert table.count("<tr>") == 51
    assert "bobs-model" not in html


def test_strangers_are_led_to_the_sign_in(user: User) -> None:
    assert Pages().get("usage").status_code == 302
    assert Pages(user).client.post("/usage/").status_code == 405


def test_the_list_beside_every_page_leads_here(user: User) -> None:
    assert 'href="/usage/"' in Pages(user).get("home").content.decode()


def test_the_page_takes_the_same_queries_however_much_there_is_and_scans_no_messages(
    user: User, conversation: Conversation
) -> None:
    pages, counts = Pages(user), []
    for count in (1, 30):
        lived(conversation, count=count)
        with CaptureQueriesContext(connection) as ran:
            pages.get("usage")
        counts.append(len(ran))
        for plan in plans(ran):
            assert "SCAN conversations_message" not in plan.replace("SCAN conversations_message USING COVERING", ""), (
                plan
            )
    assert counts[0] == counts[1] <= 16


def test_usage_by_day_tells_every_day_and_money_as_decimal_strings(user: User, conversation: Conversation) -> None:
    lived(conversation)
    told = Api(user).get("/api/usage").json()
    assert (told["by"], len(told["items"]), told["until"]) == ("day", 30, today().date().isoformat())
    last = told["items"][-1]
    assert (last["day"], last["model"], last["requests"], last["failed"]) == (told["until"], None, 4, 1)
    assert (last["cost_usd"], last["cached_tokens"], last["saved_tokens"]) == ("0.014500", 400, 7_000)
    assert told["items"][0]["requests"] == 0
    assert told["total"]["summaries_usd"] == "0.002000"
    assert told["total"]["net_saved_usd"] == "-0.002000"
    assert told["total"]["unpriced_saved_tokens"] == 7_000
    assert told["storage"] == {"conversations": 1, "messages": 2}


def test_usage_by_model_tells_those_that_were_asked(user: User, conversation: Conversation) -> None:
    lived(conversation)
    since = (today() - timedelta(days=2)).date().isoformat()
    told = Api(user).get("/api/usage", by="model", since=since).json()
    assert [(item["model"], item["requests"], item["day"]) for item in told["items"]] == [
        ("scripted", 3, None), ("fast", 1, None),
    ]  # fmt: skip
    assert told["since"] == since


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "yesterday"}, "since"),
        ({"since": "2999-01-01"}, "since"),
        ({"since": "2020-01-01", "until": "2025-01-01"}, "since"),
        ({"since": "0001-01-01"}, "since"),
        ({"until": "2999-01-01"}, "until"),
        ({"until": "0001-01-01"}, "until"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "since"),
        ({"by": "moon"}, "by"),
    ],
)
def test_days_that_make_no_sense_are_refused_by_name(user: User, query: dict[str, Any], field: str) -> None:
    assert refused(Api(user).get("/api/usage", **query), 400, "invalid")["field"] == field


def test_the_first_day_that_can_be_asked_for_works(user: User) -> None:
    told = Api(user).get("/api/usage", until="2020-01-01").json()
    assert (told["since"], told["until"], len(told["items"])) == ("2020-01-01", "2020-01-01", 1)
