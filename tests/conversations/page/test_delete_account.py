"""A person deletes their own account: everything of it goes, and nothing of anybody else."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.test import Client

from conversations.models import Conversation, Message, Project, User
from tests.conversations.chat import fill

PAGE = "/accounts/delete/"
PASSWORD = "correct horse battery"

pytestmark = pytest.mark.django_db


def person(name: str, **also: bool) -> tuple[User, Client]:
    """An account with two chats, one of them in the trash."""
    user = User.objects.create_user(name, password=PASSWORD, **also)
    for trashed in (False, True):
        chat = Conversation.objects.create(owner=user)
        fill(chat, 4)
        if trashed:
            Conversation.objects.filter(pk=chat.pk).update(trashed_at=chat.created_at)
    client = Client()
    client.post("/accounts/login/", {"username": name, "password": PASSWORD})
    return user, client


def rows_of(user: User) -> list[str]:
    """Models with rows that refer to a person, in any table."""
    return [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.related_model is User and model._base_manager.filter(**{field.name: user}).exists()
    ]


def test_everything_goes_and_what_others_have_stays() -> None:
    alice, client = person("alice")
    bob, others = person("bob")
    Project.objects.create(owner=alice, name="Ports")
    assert "1 chat goes for good" in client.get(PAGE).content.decode()
    assert len(rows_of(alice)) >= 2
    assert client.post(PAGE, {"password": PASSWORD}).headers["Location"] == "/accounts/login/"
    assert not User.objects.filter(username="alice").exists() and not rows_of(alice)
    assert client.get("/settings/").status_code == 302
    assert Message.objects.count() == 8 and Conversation.objects.filter(owner=bob).count() == 2
    assert others.get("/settings/").status_code == 200


def test_only_with_the_password_and_by_a_press() -> None:
    alice, client = person("alice")
    client.get(PAGE)
    refused = client.post(PAGE, {"password": "wrong"})
    assert refused.status_code == 422 and "That is not your password." in refused.content.decode()
    assert client.post(PAGE).status_code == 200 and Client().post(PAGE, {"password": PASSWORD}).status_code == 302
    assert User.objects.get() == alice and Conversation.objects.count() == 2


def test_the_last_administrator_stays() -> None:
    ada, client = person("ada", is_superuser=True)
    refused = client.post(PAGE, {"password": PASSWORD})
    assert refused.status_code == 422 and "the only account that administers" in refused.content.decode()
    assert Conversation.objects.count() == 2
    User.objects.create_superuser("grace", password=PASSWORD)
    assert client.post(PAGE, {"password": PASSWORD}).status_code == 302
    assert not User.objects.filter(pk=ada.pk).exists()
