"""Invitations: an administrator makes a link, and one person makes an account by it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.checks import Error
from django.test import Client
from django.utils import timezone

from conversations.checks import check_settings
from conversations.models import Invitation, User
from conversations.ops import invitations
from conversations.page.forms import AccountForm

pytestmark = [pytest.mark.django_db, pytest.mark.once]

BOB = {"username": "bob", "password1": "correct horse battery", "password2": "correct horse battery"}
ADD = "/admin/conversations/invitation/add/"


def invited(admin: Client, note: str = "Bob Baker") -> str:
    """The token of a new invitation."""
    ends = timezone.now() + timedelta(days=7)
    page = admin.post(ADD, {"note": note, "ends_at_0": ends.date().isoformat(), "ends_at_1": "12:00:00"})
    assert page.status_code == 200 and "no-store" in page["Cache-Control"]
    found = re.search(r">http://testserver/join/\?token=([\w-]{43})<", page.content.decode())
    assert found, page.content.decode()
    return found[1]


def test_a_link_makes_one_account_and_no_second(admin_client: Client) -> None:
    token = invited(admin_client)
    bob = Client()
    page = bob.get("/join/", {"token": token}).content.decode()
    assert "admin invites you to this site." in page
    assert bob.post("/join/", {**BOB, "token": token}).headers["Location"] == "/"
    assert bob.get("/").status_code == 200
    account = User.objects.get(username="bob")
    assert not account.is_staff and not account.is_superuser and account.check_password("correct horse battery")
    row = Invitation.objects.get()
    assert row.account == account and row.used_at and token not in (row.digest, row.note)
    for other in ({"username": "eve"}, {}):
        again = Client().post("/join/", {**BOB, **other, "token": token})
        assert again.status_code == 410 and "Ask whoever sent it" in again.content.decode()
    assert User.objects.count() == 2
    listed = admin_client.get("/admin/conversations/invitation/").content.decode()
    assert "Bob Baker" in listed and "used" in listed and token not in listed


def test_what_is_wrong_is_said_and_the_link_stays_good(admin_client: Client) -> None:
    token = invited(admin_client)
    page = Client().post("/join/", {**BOB, "username": "admin", "token": token})
    assert page.status_code == 422 and "already exists" in page.content.decode()
    assert f'value="{token}"' in page.content.decode()
    assert Client().post("/join/", {**BOB, "password1": "1", "token": token}).status_code == 422
    assert Client().post("/join/", {**BOB, "token": token}).status_code == 302


@pytest.mark.parametrize("spoil", ["end", "withdraw", "disable"])
def test_a_link_that_ended_opens_nothing(admin_client: Client, spoil: str) -> None:
    token = invited(admin_client)
    match spoil:
        case "end":
            Invitation.objects.update(ends_at=timezone.now())
        case "withdraw":
            Invitation.objects.all().delete()
        case "disable":
            User.objects.update(is_active=False)
    assert Client().get("/join/", {"token": token}).status_code == 410
    assert Client().post("/join/", {**BOB, "token": token}).status_code == 410
    assert not User.objects.filter(username="bob").exists()


def test_two_who_press_at_once_make_one_account(admin_client: Client) -> None:
    invitation = invitations.valid(invited(admin_client))
    assert invitation
    first, second = (AccountForm({**BOB, "username": name}) for name in ("bob", "eve"))
    assert first.is_valid() and second.is_valid()
    made = [invitations.accept(invitation, form.save(commit=False)) for form in (first, second)]
    assert made[0] is not None and made[1] is None
    assert not User.objects.filter(username="eve").exists()


def test_a_name_that_is_taken_at_the_same_moment_leaves_the_link_good(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = invited(admin_client)
    User.objects.create_user("bob")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(AccountForm, "validate_unique", lambda _form: None)
        meanwhile.setattr(AccountForm, "clean_username", lambda form: form.cleaned_data["username"])
        page = Client().post("/join/", {**BOB, "token": token})
    assert page.status_code == 422 and "Somebody has just taken this name." in page.content.decode()
    assert Client().post("/join/", {**BOB, "username": "bobby", "token": token}).status_code == 302


def test_nobody_joins_uninvited_unless_the_operator_opens_the_site(admin_client: Client, settings: Any) -> None:
    assert Client().get("/join/").status_code == 410 and Client().post("/join/", BOB).status_code == 410
    assert "Create an account" not in Client().get("/accounts/login/").content.decode()
    settings.SIGN_UP = "open"
    assert "Create an account" in Client().get("/accounts/login/").content.decode()
    assert Client().get("/join/", {"token": "x" * 43}).status_code == 410, "a wrong link is none of those"
    assert Client().post("/join/", BOB).headers["Location"] == "/"
    assert not User.objects.get(username="bob").is_staff
    settings.SIGN_UP = "everybody"
    assert check_settings() == [Error("SIGN_UP must be one of invited, open.", id="conversations.E001")]


def test_the_first_account_is_made_by_setup_even_on_an_open_site(settings: Any) -> None:
    settings.SIGN_UP = "open"
    assert Client().post("/join/", BOB).status_code == 302
    assert not User.objects.exists()


def test_only_those_with_the_right_invite(admin_client: Client) -> None:
    carol = User.objects.create_user("carol", is_staff=True)
    client = Client()
    client.force_login(carol)
    assert client.get(ADD).status_code == 403
    carol.user_permissions.add(Permission.objects.get(codename="add_invitation"))
    assert invited(client)
    people = admin_client.get("/admin/conversations/user/").content.decode()
    assert "Invite a person" in people and ADD in people
