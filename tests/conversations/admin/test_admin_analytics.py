from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations.models import Conversation, ModelProfile, User
from tests.conversations.plans import plans
from tests.conversations.spent import call, failed, reply, run

PAGE = "/admin/analytics/"


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    caches["figures"].clear()
    yield
    caches["figures"].clear()


@pytest.fixture
def root(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def today() -> datetime:
    return datetime.now(UTC)


def page(client: Client, **query: Any) -> str:
    response = client.get(PAGE, query)
    assert response.status_code == 200
    return str(response.content.decode())


def tiles(html: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>\s*(.*?)\s*</dd>", html))


def lived(conversation: Conversation, user: User, count: int = 1) -> None:
    """A few rows of every kind, on days that are past and today."""
    for number in range(count):
        for at in (today(), today() - timedelta(days=3 + number % 5)):
            reply(conversation, at, saved_tokens=4_000, cost_usd=Decimal("0.01"), duration_ms=900, first_token_ms=80)
            failed(
                conversation, "scripted: nothing came from host for 60 s.", at - timedelta(seconds=1), code="silence"
            )
            call(user, at)
            run(
                conversation, at, reduction_percent=80, duration_ms=1_500, facts_found=50, facts_kept=45,
                facts_repaired=5, prompt_tokens=700, cost_usd=Decimal("0.001"),
            )  # fmt: skip
            run(
                conversation,
                at,
                trigger="manual",
                status="failed",
                error="validate: the summary was cut off",
                error_code="cut_off",
            )


def test_an_empty_site_has_a_page_that_says_so(root: Client) -> None:
    html = page(root)
    assert html.count("No figures for these days.") == 12
    assert tiles(html)["Tokens saved"] == "0"
    assert tiles(html)["Facts kept"] == "–"


def test_money_without_any_price_is_not_known(root: Client, conversation: Conversation) -> None:
    reply(conversation, today(), saved_tokens=4_000)
    told = tiles(page(root))
    assert (told["Spent"], told["Money saved"], told["Tokens saved"]) == ("not known", "not known", "4k")


def test_the_page_shows_what_there_is(root: Client, conversation: Conversation, user: User) -> None:
    profile = ModelProfile.objects.get()
    profile.price_input = profile.price_output = Decimal(2)
    profile.save()
    lived(conversation, user)
    html = page(root)
    shown = tiles(html)
    assert shown["Tokens saved"] == "16k"
    assert shown["Spent"] == "$0.0220"
    assert shown["Failed requests"] == "33.3 %"
    assert (shown["Reduction"], shown["Facts kept"]) == ("80.0 %", "90.0 %")
    assert "8,000 saved tokens is not known" in html
    for reason in ("silence", "cut off"):
        assert f">{reason}</text>" in html
    assert "replies 4,000, gateway 4,000" in html
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| onclick=", html)


def test_the_choice_of_days_model_and_trigger_narrows_the_figures(
    root: Client, conversation: Conversation, user: User
) -> None:
    lived(conversation, user)
    reply(conversation, today() - timedelta(days=50), saved_tokens=100_000)
    reply(conversation, today(), model="other", saved_tokens=1)
    assert tiles(page(root))["Tokens saved"] == "16k"
    assert tiles(page(root, days=90))["Tokens saved"] == "116k"
    assert tiles(page(root, days="nonsense"))["Tokens saved"] == "16k"
    assert tiles(page(root, model="other"))["Tokens saved"] == "1"
    assert tiles(page(root, model="<b>nobody\0"))["Tokens saved"] == "0"
    by_hand = page(root, trigger="manual")
    assert "Tokens saved" not in by_hand
    assert "0 of 2 were put in force" in by_hand


def test_what_is_new_today_is_seen_at_once_and_what_is_past_within_minutes(
    root: Client, conversation: Conversation
) -> None:
    reply(conversation, today() - timedelta(days=2), saved_tokens=10)
    assert tiles(page(root))["Tokens saved"] == "10"
    reply(conversation, today(), saved_tokens=5)
    assert tiles(page(root))["Tokens saved"] == "15"
    reply(conversation, today() - timedelta(days=2, seconds=1), saved_tokens=100)
    assert tiles(page(root))["Tokens saved"] == "15"
    caches["figures"].clear()
    assert tiles(page(root))["Tokens saved"] == "115"


def test_only_those_who_may_see_compactions_see_the_page(root: Client, user: User) -> None:
    assert Client().get(PAGE).headers["Location"] == f"/admin/login/?next={PAGE}"
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(PAGE).status_code == 302
    user.is_staff = True
    user.save()
    assert client.get(PAGE).status_code == 403
    assert PAGE not in client.get("/admin/").content.decode()
    user.user_permissions.add(Permission.objects.get(codename="view_compaction"))
    assert client.get(PAGE).status_code == 200
    for place in ("/admin/", "/admin/compression/compaction/"):
        assert f'href="{PAGE}"' in client.get(place).content.decode()
    assert client.post(PAGE).status_code == 405


def test_the_page_takes_the_same_queries_however_much_there_is_and_scans_no_messages(
    root: Client, conversation: Conversation, user: User
) -> None:
    page(root)
    counts = []
    for more in (1, 12):
        lived(conversation, user, more)
        caches["figures"].clear()
        with CaptureQueriesContext(connection) as ran:
            page(root, days=90)
        counts.append(len(ran))
        for plan in plans(ran):
            assert "SCAN conversations_message" not in plan, plan
    assert counts[0] == counts[1] <= 20


def test_texts_of_rows_are_escaped(root: Client, conversation: Conversation) -> None:
    evil = "<script>alert(1)</script>"
    reply(conversation, today(), model=evil)
    failed(conversation, evil, today() - timedelta(seconds=1))
    run(conversation, today(), summariser=evil, prompt_tokens=5, status="failed", error=evil)
    assert evil not in page(root)
