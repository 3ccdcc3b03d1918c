"""Two-step sign-in: a code of an app, or a recovery code, after the password."""

from __future__ import annotations

import re
import time
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from conversations.models import User

PASSWORD = "correct horse battery"
SIGN_IN, ENTER = "/accounts/login/", "/accounts/2fa/authenticate/"

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


def signed_in(client: Client, **also: str) -> Any:
    return client.post(SIGN_IN, {"username": "alice", "password": PASSWORD, **also})


def code_of(secret: str, *, ahead: int = 0) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + ahead))


def set_up(client: Client) -> tuple[str, list[str]]:
    """The secret and the recovery codes of a person who is signed in."""
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    page = client.get("/accounts/2fa/totp/activate/").content.decode()
    assert 'src="data:image/svg+xml' in page
    secret = re.search(r"<code>(\w+)</code>", page)
    assert secret
    done = client.post("/accounts/2fa/totp/activate/", {"code": code_of(secret[1])})
    codes = client.get(done.headers["Location"]).content.decode()
    return secret[1], re.findall(r"\b\d{8}\b", codes)


def test_a_password_alone_opens_nothing_once_it_is_on(alice: User) -> None:
    client = Client()
    assert signed_in(client).headers["Location"] == "/"
    secret, codes = set_up(client)
    assert len(codes) == 10 and client.get("/").status_code == 200
    assert not re.findall(r"\b\d{8}\b", client.get("/accounts/2fa/recovery-codes/").content.decode()), "shown once"

    other = Client()
    assert signed_in(other, next="/settings/").headers["Location"] == ENTER
    for path in ("/", "/settings/", "/api/conversations", "/accounts/2fa/", "/accounts/2fa/totp/deactivate/"):
        assert other.get(path).status_code in (302, 401), path
    assert "Incorrect code" in other.post(ENTER, {"code": "000000"}).content.decode()
    right = code_of(secret, ahead=1)
    assert other.post(ENTER, {"code": right}).headers["Location"] == "/settings/"
    assert other.get("/settings/").status_code == 200
    again = Client()
    signed_in(again)
    assert "Incorrect code" in again.post(ENTER, {"code": right}).content.decode(), "each code once"


def test_a_recovery_code_works_once(alice: User) -> None:
    client = Client()
    signed_in(client)
    _, codes = set_up(client)
    for attempt in (1, 2):
        other = Client()
        signed_in(other)
        status = other.post(ENTER, {"code": codes[0]}).status_code
        assert status == (302 if attempt == 1 else 200)
    assert "9 of 10 codes are left" in client.get("/accounts/2fa/recovery-codes/").content.decode()


def test_guesses_are_limited(alice: User) -> None:
    client = Client()
    signed_in(client)
    secret, _ = set_up(client)
    other = Client()
    signed_in(other)
    for guess in range(12):
        page = other.post(ENTER, {"code": f"{guess:06}"})
    assert "Too many" in page.content.decode()
    page = other.post(ENTER, {"code": code_of(secret, ahead=1)})
    assert page.status_code != 302, "even the right one has to wait"


def test_it_is_changed_only_by_whoever_has_just_entered_the_password(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    asked = client.get("/accounts/2fa/totp/activate/")
    assert asked.headers["Location"].startswith("/accounts/reauthenticate/")
    page = client.get(asked.headers["Location"])
    assert "Confirm that it is you" in page.content.decode()
    assert client.post("/accounts/reauthenticate/", {"password": "wrong"}).status_code == 200
    confirmed = client.post(asked.headers["Location"], {"password": PASSWORD})
    assert confirmed.headers["Location"] == "/accounts/2fa/totp/activate/"
    set_up(client)
    client.post("/accounts/2fa/totp/deactivate/")
    assert signed_in(Client()).headers["Location"] == "/" and not Authenticator.objects.exists()


def test_secrets_are_encrypted_and_a_changed_key_opens_nothing(alice: User, settings: Any) -> None:
    client = Client()
    signed_in(client)
    secret, codes = set_up(client)
    stored = " ".join(str(row.data) for row in Authenticator.objects.all())
    assert secret not in stored and not any(code in stored for code in codes)
    settings.SECRET_KEY = "another secret key of at least thirty-two letters"
    other = Client()
    signed_in(other)
    for code in (code_of(secret), code_of(""), codes[0]):
        assert other.post(ENTER, {"code": code}).status_code == 200


def test_the_administration_has_the_same_sign_in(alice: User) -> None:
    assert Client().get("/admin/login/?next=/admin/").headers["Location"] == "/accounts/login/?next=/admin/"
    client = Client()
    client.force_login(alice)
    refused = client.get("/admin/", follow=True)
    assert refused.status_code == 403 and "does not administer" in refused.content.decode()


@pytest.mark.parametrize("path", ["signup/", "email/", "password/reset/", "2fa/webauthn/", "2fa/trust/"])
def test_pages_that_the_site_does_not_offer_are_not_there(path: str) -> None:
    assert Client().get(f"/accounts/{path}").status_code == 404


def test_who_lost_the_phone_is_let_in_by_an_administrator_or_a_command(alice: User, admin_client: Client) -> None:
    client = Client()
    signed_in(client)
    set_up(client)
    action = {"action": "remove_second_step", "_selected_action": [alice.pk]}
    page = admin_client.post("/admin/conversations/user/", action, follow=True).content.decode()
    assert "Two-step sign-in of 1 person is off." in page
    assert signed_in(Client()).headers["Location"] == "/"
    set_up(client)
    out = StringIO()
    call_command("reset_second_step", "alice", stdout=out)
    assert "Two-step sign-in of alice is off." in out.getvalue()
    assert signed_in(Client()).headers["Location"] == "/"
    with pytest.raises(CommandError, match="no account with the name bob"):
        call_command("reset_second_step", "bob")


def test_staff_cannot_weaken_a_superuser(alice: User, admin_user: User) -> None:
    Authenticator.objects.create(user=admin_user, type="totp", data={"secret": "x"})
    alice.is_staff = True
    alice.save()
    alice.user_permissions.add(*Permission.objects.filter(codename__in=["change_user", "view_user"]))
    client = Client()
    client.force_login(alice)
    client.post("/admin/conversations/user/", {"action": "remove_second_step", "_selected_action": [admin_user.pk]})
    assert Authenticator.objects.filter(user=admin_user).exists()
