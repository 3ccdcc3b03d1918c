"""E-mail addresses of people: confirmed by a link, changed, and used to set a forgotten password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage
from django.test import Client

from chatsite.mail_server import mailers
from conversations.models import AuditEntry, User
from conversations.ops import mail as site_mail
from tests.conversations.page import mail_urls
from tests.conversations.page.test_second_step import PASSWORD, set_up, signed_in
from tests.servers import wait_until

ADDRESS, FORGOTTEN = "/accounts/email/", "/accounts/password/"
LOCAL = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture(autouse=True)
def sends_mail(settings: Any) -> Iterator[None]:
    settings.MAILERS = LOCAL
    settings.EMAIL_FROM = "chats@example.org"
    settings.ROOT_URLCONF = mail_urls.__name__
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD, email="alice@example.org")


def at_settings(**headers: str) -> Client:
    """A client that has just confirmed that it is alice."""
    client = Client(**headers)
    signed_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def mails(number: int) -> list[EmailMessage]:
    wait_until(lambda: len(mail.outbox) >= number, what=f"{number} mails")
    assert len(mail.outbox) == number
    return mail.outbox


def link_in(message: EmailMessage) -> str:
    found = re.search(r"http://testserver(/\S+)", str(message.body))
    assert found
    return found[1]


def test_a_forgotten_password_is_replaced_by_the_link_of_a_mail_once(alice: User) -> None:
    client, open_page = Client(), at_settings()
    assert "Forgot your password?" in client.get("/accounts/login/").content.decode()
    assert "is on its way" in client.post(FORGOTTEN, {"email": "Alice@Example.org"}).content.decode()
    message = mails(1)[0]
    assert message.to == ["alice@example.org"] and message.from_email == "chats@example.org"
    assert message.subject == "Choose a new password" and "Hello alice," in str(message.body)

    link = link_in(message)
    form = client.get(link).headers["Location"]
    assert link.split("/")[-2] not in form
    words = "seven tame geese"
    weak = client.post(form, {"new_password1": "12345", "new_password2": "12345"})
    assert weak.status_code == 200 and "too short" in weak.content.decode()
    assert client.post(form, {"new_password1": words, "new_password2": words}).headers["Location"] == "/accounts/login/"
    alice.refresh_from_db()
    assert alice.check_password(words) and open_page.get("/").status_code == 302, "other browsers are signed out"
    assert "has been used or has expired" in Client().get(link, follow=True).content.decode()
    assert mails(2)[1].subject == "Your password was changed."
    assert AuditEntry.objects.filter(action="password_changed", person=alice).count() == 1


def test_a_stranger_learns_nothing_of_who_has_an_account(alice: User) -> None:
    User.objects.create_user("sso", email="sso@example.org").set_unusable_password()
    disabled = User.objects.create_user("off", password=PASSWORD, email="off@example.org")
    User.objects.filter(pk=disabled.pk).update(is_active=False)
    pages = set()
    for address in ("nobody@example.org", "sso@example.org", "off@example.org", "alice@example.org"):
        page = Client().post(FORGOTTEN, {"email": address})
        pages.add((page.status_code, re.sub(r'value="[^"]+"', "", page.content.decode())))
    assert len(pages) == 1
    assert [one.to for one in mails(1)] == [["alice@example.org"]]


def test_one_address_gets_five_mails_an_hour_and_a_visitor_asks_thirty_times_a_minute(alice: User) -> None:
    client = Client()
    statuses = [client.post(FORGOTTEN, {"email": "alice@example.org"}).status_code for _ in range(32)]
    assert statuses[:30] == [200] * 30 and statuses[-1] == 429
    assert len(mails(5)) == 5
    elsewhere = at_settings(REMOTE_ADDR="10.0.0.9")
    assert "Too many mails" in elsewhere.post(ADDRESS, {"email": "alice@EXAMPLE.org"}).content.decode()


def test_the_second_step_is_still_asked_for(alice: User) -> None:
    client = Client()
    signed_in(client)
    set_up(client)
    count = len(mail.outbox)
    visitor = Client()
    visitor.post(FORGOTTEN, {"email": "alice@example.org"})
    wait_until(lambda: any(one.subject == "Choose a new password" for one in mail.outbox[count - 2 :]), what="the mail")
    reset = next(one for one in mail.outbox if one.subject == "Choose a new password")
    form = visitor.get(link_in(reset)).headers["Location"]
    visitor.post(form, {"new_password1": "seven tame geese", "new_password2": "seven tame geese"})
    entered = visitor.post("/accounts/login/", {"username": "alice", "password": "seven tame geese"})
    assert entered.headers["Location"] == "/accounts/2fa/authenticate/"


def test_an_address_is_changed_by_a_link_to_the_new_one_and_the_earlier_one_hears_of_it(alice: User) -> None:
    stranger = Client()
    signed_in(stranger)
    assert stranger.get(ADDRESS).headers["Location"].startswith("/accounts/reauthenticate/"), "a session is not enough"
    client = at_settings()
    assert 'value="alice@example.org"' in client.get(ADDRESS).content.decode()
    assert "address already" in client.post(ADDRESS, {"email": "alice@example.org"}).content.decode()
    assert client.post(ADDRESS, {"email": "nonsense"}).status_code == 422
    client.post(ADDRESS, {"email": "new@example.org"})
    message = mails(1)[0]
    alice.refresh_from_db()
    assert message.to == ["new@example.org"] and alice.email == "alice@example.org"

    link, reader = link_in(message), Client()
    page = reader.get(link).content.decode()
    assert "new@example.org becomes the address of alice." in page
    alice.refresh_from_db()
    assert alice.email == "alice@example.org", "opening a link changes nothing"
    reader.post(link)
    alice.refresh_from_db()
    assert alice.email == "new@example.org"
    notice = mails(2)[1]
    assert notice.to == ["alice@example.org"] and notice.subject == "Your e-mail address was changed."
    assert reader.post(link).status_code == 410, "once"
    assert AuditEntry.objects.filter(action="email_changed", person=alice).count() == 1

    client.post(ADDRESS, {"email": ""})
    alice.refresh_from_db()
    assert alice.email == ""


@pytest.mark.parametrize("token", ["x", "a:b:c", site_mail.SALT, "é", "W10:1:2", "%00"])
def test_a_token_that_was_never_made_changes_nothing(token: str, alice: User) -> None:
    assert Client().post(f"{ADDRESS}{token}/").status_code in (404, 410)


def test_changes_of_the_second_step_are_told_by_mail(alice: User, django_capture_on_commit_callbacks: Any) -> None:
    client = Client()
    signed_in(client)
    with django_capture_on_commit_callbacks(execute=True):
        set_up(client)
    client.post("/accounts/2fa/totp/deactivate/")
    wait_until(lambda: len(mail.outbox) >= 2, what="the notices")
    said = {one.subject for one in mail.outbox}
    assert said == {f"Two-step sign-in was turned {how} for your account." for how in ("on", "off")}


def test_a_server_that_refuses_is_named_in_the_log_without_the_address(caplog: Any, settings: Any, alice: User) -> None:
    options = {"host": "127.0.0.1", "port": 9, "timeout": 5}
    settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}}
    Client().post(FORGOTTEN, {"email": "alice@example.org"})
    wait_until(lambda: "mail.failed" in caplog.text, what="the log line")
    assert "ConnectionRefusedError" in caplog.text and "alice@" not in caplog.text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtps://al:p%40ss@mail.example.org", {"port": 465, "use_ssl": True, "use_tls": False, "password": "p@ss"}),
        ("smtp+tls://mail.example.org", {"port": 587, "use_ssl": False, "use_tls": True, "username": ""}),
        ("smtp://localhost:2525", {"port": 2525, "use_ssl": False, "use_tls": False, "host": "localhost"}),
    ],
)
def test_an_address_of_a_mail_server_is_read(url: str, expected: dict[str, Any]) -> None:
    assert mailers(url) == {"default": {"BACKEND": ANY, "OPTIONS": ANY}}
    assert expected.items() <= mailers(url)["default"]["OPTIONS"].items()


@pytest.mark.parametrize("url", ["mail.example.org", "https://mail.example.org", "smtp://", "smtp://x:99999", "smtp:x"])
def test_what_is_no_mail_server_is_refused_by_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatsite.settings import read

    monkeypatch.setenv("EMAIL_URL", url)
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL must be an address such as"):
        read("EMAIL_URL", {}, mailers, "an address such as smtps://name:password@smtp.example.org")
