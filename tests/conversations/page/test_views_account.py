from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from conversations.models import User
from conversations.page.forms import SetupForm
from tests.conversations.pages import Pages

ACCOUNT = {"username": "ada", "password1": "correct horse battery", "password2": "correct horse battery"}


@pytest.mark.django_db
def test_a_site_without_accounts_leads_to_the_first_one() -> None:
    response = Client().get("/", follow=True)
    assert response.redirect_chain[-1][0] == "/setup/"
    assert b"Create the first account" in response.content


@pytest.mark.django_db
def test_the_first_account_administers_the_site_and_is_signed_in(setup_token: str) -> None:
    client = Client()
    assert client.post("/setup/", ACCOUNT | {"token": setup_token}).headers["Location"] == "/"
    ada = User.objects.get()
    assert ada.is_superuser and ada.is_staff and ada.check_password("correct horse battery")
    assert client.get("/").status_code == 200


def test_there_is_only_one_first_account(user: User) -> None:
    assert Client().get("/setup/").headers["Location"] == "/accounts/login/"
    assert Client().post("/setup/", ACCOUNT).headers["Location"] == "/accounts/login/"
    assert User.objects.get() == user


def test_a_second_first_visitor_who_was_at_the_form_already_gets_no_account(user: User) -> None:
    form = SetupForm(ACCOUNT)  # the view has asked for the token before
    assert form.is_valid()
    assert form.save_first() is None
    assert User.objects.get() == user


@pytest.mark.django_db
def test_a_weak_password_is_refused_with_the_reason() -> None:
    response = Client().post("/setup/", ACCOUNT | {"password1": "12345678", "password2": "12345678"})
    assert response.status_code == 422
    assert b"too common" in response.content
    assert not User.objects.exists()


def test_signing_in_and_out(user: User) -> None:
    client = Client()
    asked = client.get("/")
    assert asked.headers["Location"] == "/accounts/login/?next=/"
    form = {"username": "alice", "password": "correct horse battery", "next": "/"}
    assert client.post("/accounts/login/", form).headers["Location"] == "/"
    assert client.get("/").status_code == 200
    assert client.post("/accounts/logout/").headers["Location"] == "/accounts/login/"
    assert client.get("/").status_code == 302


def test_a_wrong_password_is_told_beside_the_form(user: User) -> None:
    response = Client().post("/accounts/login/", {"username": "alice", "password": "wrong"})
    assert b'role="alert"' in response.content


def test_an_expired_session_takes_the_whole_page_to_the_sign_in(user: User, conversation: Any) -> None:
    response = Pages().post("send", conversation.pk, at=conversation, content="hello")
    assert response.headers["HX-Redirect"] == f"/accounts/login/?next=/c/{conversation.pk}/"


def test_ten_wrong_passwords_lock_the_name_out_and_say_so(client: Client, django_user_model: Any) -> None:
    django_user_model.objects.create_user("mallory", password="a good long one")
    for _ in range(10):
        answer = client.post(reverse("login"), {"username": "mallory", "password": "wrong"})
    assert answer.status_code == 429
    assert "quarter of an hour" in answer.content.decode()
    again = client.post(reverse("login"), {"username": "mallory", "password": "a good long one"})
    assert again.status_code == 429


@pytest.mark.parametrize(
    ("username", "first_name", "last_name", "initials"),
    [
        ("alice", "", "", "A"),
        ("alice", "Ana", "Keller", "AK"),
        ("alice", "Ana", "", "A"),
        ("mary", "Mary Ann", "van der Berg", "MB"),
        ("李雷", "", "", "李"),
    ],
)
def test_a_person_has_one_or_two_initials(username: str, first_name: str, last_name: str, initials: str) -> None:
    assert User(username=username, first_name=first_name, last_name=last_name).initials == initials
