"""The browsers in which a person is signed in: listed, and signed out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from conversations.models import User
from conversations.ops import maintenance
from conversations.page.browsers import name_of

PASSWORD = "correct horse battery"
PAGE = "/accounts/browsers/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile Safari/604.1"
EDGE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"

pytestmark = pytest.mark.django_db


def browser(agent: str, name: str = "alice") -> Client:
    client = Client(headers={"User-Agent": agent})
    answer = client.post("/accounts/login/", {"username": name, "password": PASSWORD})
    assert answer.headers["Location"] == "/"
    return client


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.mark.parametrize(
    ("agent", "name"),
    [(FIREFOX, "Firefox on Linux"), (PHONE, "Safari on iPhone"), (EDGE, "Edge on Windows"), ("curl/8", "A browser")],
)
def test_headers_are_named_as_people_know_them(agent: str, name: str) -> None:
    assert name_of(agent) == name


def test_all_are_listed_and_one_is_signed_out(alice: User) -> None:
    here, phone, work = browser(FIREFOX), browser(PHONE), browser(EDGE)
    page = here.get(PAGE).content.decode()
    assert page.index("Firefox on Linux") < page.index("this browser") < page.index("Edge on Windows")
    assert "Safari on iPhone" in page and "127.0.0.1" in page
    chosen = UserSession.objects.get(user_agent=PHONE)
    assert "1 browser is signed out." in here.post(PAGE, {"browser": chosen.pk}).content.decode()
    assert [one.get("/settings/").status_code for one in (here, phone, work)] == [200, 302, 200]
    assert "iPhone" not in here.get(PAGE).content.decode()


def test_all_others_are_signed_out_and_this_one_stays_through_a_new_password(alice: User) -> None:
    here, phone, work = browser(FIREFOX), browser(PHONE), browser(EDGE)
    assert "2 browsers are signed out." in here.post(PAGE).content.decode()
    assert [one.get("/settings/").status_code for one in (here, phone, work)] == [200, 302, 302]
    fields = {"old_password": PASSWORD, "new_password1": "another long one", "new_password2": "another long one"}
    here.post("/settings/password", fields)
    assert "this browser" in here.get(PAGE).content.decode()


def test_browsers_of_other_people_stay(alice: User) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    here, theirs = browser(FIREFOX), browser(EDGE, "bob")
    chosen = UserSession.objects.get(user_agent=EDGE)
    assert "0 browsers" in here.post(PAGE, {"browser": chosen.pk}).content.decode()
    here.post(PAGE)
    assert theirs.get("/settings/").status_code == 200 and "Edge" not in here.get(PAGE).content.decode()
    for odd in ("x", "-1", "²", "9" * 30):
        assert here.post(PAGE, {"browser": odd}).status_code == 400
    assert Client().get(PAGE).status_code == 302


def test_the_first_account_is_listed_too(setup_token: str) -> None:
    client = Client(headers={"User-Agent": FIREFOX})
    client.post("/setup/", {"username": "ada", "password1": PASSWORD, "password2": PASSWORD, "token": setup_token})
    assert "Firefox on Linux" in client.get(PAGE).content.decode()


@pytest.mark.django_db(transaction=True)
def test_sessions_that_have_expired_are_deleted(alice: User) -> None:
    browser(FIREFOX), browser(EDGE)
    old = Session.objects.filter(session_key=UserSession.objects.get(user_agent=EDGE).session_key)
    old.update(expire_date=timezone.now() - timedelta(seconds=1))
    maintenance.tidy()
    assert UserSession.objects.get().user_agent == FIREFOX and Session.objects.count() == 1


def test_a_header_from_outside_names_no_address(alice: User) -> None:
    client = Client(headers={"User-Agent": FIREFOX, "X-Forwarded-For": "203.0.113.9"})
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert UserSession.objects.get().ip == "127.0.0.1"
