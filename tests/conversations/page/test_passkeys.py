"""Passkeys: what is refused, what an administrator turns off, and how people without a password confirm a change."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from conversations.models import User
from tests.conversations.page.test_second_step import PASSWORD, signed_in

SIGN_IN, ADD, INDEX = "/accounts/passkey/", "/accounts/2fa/passkeys/add/", "/accounts/2fa/"
ANSWERS = [
    *("", "null", "[]", "{}", '"text"', "7", "not JSON", "[" * 5_000, '{"response": null}', '{"response": []}'),
    '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {}}',
    '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {"userHandle": 5, "clientDataJSON": "!", '
    '"authenticatorData": "YQ", "signature": "YQ", "attestationObject": "YQ"}}',
    '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {"userHandle": "MQ", "clientDataJSON": "e30", '
    '"authenticatorData": "YQ", "signature": "YQ", "attestationObject": "oA"}}',
    json.dumps({"id": "a" * 50000, "rawId": "a" * 50000, "response": {"clientDataJSON": "e30"}}),
]

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_an_answer_that_no_authenticator_gives_signs_nobody_in_and_adds_nothing(number: int, alice: User) -> None:
    stranger = Client()
    options = stranger.get(SIGN_IN, headers={"Accept": "application/json"}).json()["request_options"]["publicKey"]
    assert options["userVerification"] == "required" and not options.get("allowCredentials")
    refused = stranger.post(SIGN_IN, {"credential": ANSWERS[number], "next": "/settings/"})
    assert refused.headers["Location"] == "/accounts/login/?passkey=refused&next=%2Fsettings%2F"
    assert "This passkey did not work" in stranger.get(refused.headers["Location"]).content.decode()
    assert stranger.get("/").status_code == 302

    client = Client()
    signed_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert client.get(ADD).status_code == 200
    added = client.post(ADD, {"name": "key", "credential": ANSWERS[number], "passwordless": "True"})
    assert added.status_code == 200 and 'class="complaint"' in added.content.decode()
    assert not Authenticator.objects.exists()


def test_answers_are_limited_by_address() -> None:
    client = Client()
    statuses = [client.post(SIGN_IN, {"credential": "{}"}).status_code for _ in range(12)]
    assert statuses[0] == 302 and statuses[-1] == 429


def test_a_passkey_is_added_only_by_whoever_has_just_entered_the_password(alice: User) -> None:
    client = Client()
    signed_in(client)
    for path in (ADD, "/accounts/2fa/passkeys/1/remove/"):
        assert client.get(path).headers["Location"].startswith("/accounts/reauthenticate/")


def test_a_passkey_of_another_person_cannot_be_removed(alice: User, admin_user: User) -> None:
    theirs = Authenticator.objects.create(user=admin_user, type="webauthn", data={"name": "theirs", "credential": {}})
    client = Client()
    signed_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert client.post(f"/accounts/2fa/passkeys/{theirs.pk}/remove/").status_code == 404
    assert Authenticator.objects.filter(pk=theirs.pk).exists()


def test_who_lost_their_passkeys_is_let_in_by_an_administrator_or_a_command(alice: User, admin_client: Client) -> None:
    for attempt in range(2):
        Authenticator.objects.create(user=alice, type="webauthn", data={"name": "key", "credential": {}})
        assert Authenticator.objects.filter(user=alice).exists()
        if attempt:
            call_command("reset_second_step", "alice")
        else:
            action = {"action": "remove_second_step", "_selected_action": [alice.pk]}
            page = admin_client.post("/admin/conversations/user/", action, follow=True).content.decode()
            assert "Two-step sign-in of 1 person is off." in page
        assert not Authenticator.objects.exists()
        assert signed_in(Client()).headers["Location"] == "/"


def test_without_a_password_a_change_is_confirmed_by_a_sign_in_of_the_last_minutes(alice: User) -> None:
    alice.set_unusable_password()
    alice.save()
    client = Client()
    client.force_login(alice)
    asked = client.get(ADD)
    assert asked.headers["Location"].startswith("/accounts/sign-in-again/")
    page = client.get(asked.headers["Location"]).content.decode()
    assert "for five minutes after a sign-in" in page

    session = client.session
    session["account_authentication_methods_user"] = str(alice.pk)
    for age, status in ((10, 200), (400, 302)):
        session[AUTHENTICATION_METHODS_SESSION_KEY] = [{"method": "socialaccount", "at": time.time() - age}]
        session.save()
        assert client.get(ADD).status_code == status
        assert client.get("/accounts/2fa/totp/activate/").status_code == status
