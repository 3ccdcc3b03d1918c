"""The audit log: who signed in, made keys, shared, exported, and what administrators did and looked at."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from compression.ids import first_id
from conversations import api_keys
from conversations.models import ApiKey, AuditEntry, Conversation, ModelProfile, User
from conversations.ops import maintenance
from tests.conversations.chat import fill

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def chat(alice: User) -> Conversation:
    conversation = Conversation.objects.create(owner=alice, title="A secret title")
    fill(conversation, 4)
    return conversation


def acts() -> list[tuple[str, str, str]]:
    """(action, person, subject) of all entries, the earliest first."""
    return list(AuditEntry.objects.order_by("id").values_list("action", "person_name", "subject"))


def test_sign_ins_and_what_a_person_does_with_access_are_noted(alice: User, chat: Conversation) -> None:
    AuditEntry.objects.all().delete()
    client = Client()
    for password in ("wrong", PASSWORD):
        client.post("/accounts/login/", {"username": "alice", "password": password})
    client.post("/accounts/login/", {"username": "my password, typed here", "password": "x"})
    made = api_keys.create_key(alice, "script")
    api_keys.revoke_key(alice, made.key.pk)
    api_keys.revoke_key(alice, made.key.pk)
    client.get(f"/c/{chat.pk}/export")
    client.post(f"/c/{chat.pk}/link")
    client.get("/export")
    client.post("/accounts/logout/")
    chat_id = f"conversation {chat.pk}"
    assert acts() == [
        ("sign_in_failed", "alice", ""),
        ("signed_in", "alice", ""),
        ("key_made", "alice", f"key {made.key.pk}"),
        ("key_revoked", "alice", f"key {made.key.pk}"),
        ("exported", "alice", chat_id),
        ("shared", "alice", chat_id),
        ("exported", "alice", "everything"),
        ("signed_out", "alice", ""),
    ]
    assert set(AuditEntry.objects.exclude(action__startswith="key").values_list("address", flat=True)) == {"127.0.0.1"}
    noted = str(list(AuditEntry.objects.values()))
    for text in (made.plain, PASSWORD, "typed here", "A secret title"):
        assert text not in noted


def test_what_administrators_change_and_look_at_is_noted(chat: Conversation, admin_client: Client) -> None:
    AuditEntry.objects.all().delete()
    admin_client.get(f"/admin/conversations/conversation/{chat.pk}/change/")
    profile = ModelProfile.objects.create(name="gpt", model_id="gpt")
    admin_client.post(f"/admin/conversations/modelprofile/{profile.pk}/delete/", {"post": "yes"})
    assert acts() == [
        ("looked_at", "admin", f"conversation {chat.pk}"),
        ("administered", "admin", f"deleted modelprofile {profile.pk}"),
    ]
    page = admin_client.get("/admin/conversations/auditentry/").content.decode()
    assert "Looked at another person" in page and f"deleted modelprofile {profile.pk}" in page
    entry = AuditEntry.objects.latest("id")
    for act in ("change", "delete"):
        refused = admin_client.post(f"/admin/conversations/auditentry/{entry.pk}/{act}/", {"post": "yes"})
        assert refused.status_code == 403
    assert AuditEntry.objects.count() == 2, "what is there stays as it is"


def test_an_owner_who_administers_looks_at_their_own(admin_user: User, admin_client: Client) -> None:
    own = Conversation.objects.create(owner=admin_user)
    AuditEntry.objects.all().delete()
    admin_client.get(f"/admin/conversations/conversation/{own.pk}/change/")
    assert not acts()


def test_an_entry_outlives_its_account(alice: User, chat: Conversation) -> None:
    client = Client()
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    client.post("/accounts/delete/", {"password": PASSWORD})
    assert [one[:2] for one in acts()] == [
        ("account_made", "alice"),
        ("signed_in", "alice"),
        ("account_deleted", "alice"),
    ]
    assert not AuditEntry.objects.exclude(person=None).exists()


def test_the_log_is_exported_as_lines_of_json(alice: User) -> None:
    out = StringIO()
    call_command("audit", stdout=out)
    (line,) = out.getvalue().splitlines()
    assert json.loads(line)["action"] == "account_made" and json.loads(line)["person_name"] == "alice"
    out = StringIO()
    call_command("audit", since=(timezone.now() + timedelta(days=1)).date().isoformat(), stdout=out)
    assert not out.getvalue()
    with pytest.raises(CommandError, match="--since must be a day such as 2026-11-01, not yesterday"):
        call_command("audit", since="yesterday")


@pytest.mark.django_db(transaction=True)
def test_entries_are_kept_for_a_year(alice: User, settings: Any) -> None:
    AuditEntry.objects.create(pk=first_id(timezone.now() - timedelta(days=366)), action="exported")
    assert AuditEntry.objects.count() == 2
    maintenance.tidy()
    assert [one[0] for one in acts()] == ["account_made"]


def test_a_call_of_a_key_is_no_sign_in(alice: User) -> None:
    _, key = ApiKey.make(alice, "script")
    AuditEntry.objects.all().delete()
    assert Client().get("/api/conversations", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    assert not acts()
