"""A setting that an administrator changes is checked, stored and told of as one that a program changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import Client
from django.utils import timezone

from conversations.instructions.rules import MAX_RULES
from conversations.models import Conversation, Message, ModelProfile, User
from tests.conversations.api_client import Api
from tests.conversations.instructions.test_settings_alike import SETTINGS, outcome

pytestmark = pytest.mark.once

CHANGES: dict[str, Any] = {
    "title": "Ports  and hosts",
    "model": "other",
    "effort": "high",
    "mode": "developer",
    "system_prompt": "Be brief.\r\nBe kind.",
    "policy": {"threshold": 0.6, "keep_recent": 4},
    "rules": ["Use  UTC", "Use UTC"],
    "uses_tools": False,
    "pinned": True,
    "archived": True,
}
JSON = ("policy", "rules")
REFUSED: dict[str, Any] = {
    "system_prompt": "x" * 50_001,
    "policy": {"keep_recent": 2_000},
    "rules": ["Rule"] * (MAX_RULES + 1),
}


class Admin:
    """An administrator's form of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.client = Client()
        self.client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
        self.conversation = conversation
        self.path = f"/admin/conversations/conversation/{conversation.pk}/change/"

    def saves(self, **changes: Any) -> Any:
        """The answer to the form with these values, and all others as they are."""
        row = Conversation.objects.get(pk=self.conversation.pk)
        values = {name: getattr(row, name) for name in SETTINGS} | {"model": row.model_id or ""}
        hidden = {f"initial-{name}": json.dumps(values[name]) for name in JSON}
        fields = values | changes
        fields |= hidden | {name: json.dumps(fields[name]) for name in JSON}
        return self.client.post(self.path, {name: value for name, value in fields.items() if value is not False})


@pytest.fixture
def admin(conversation: Conversation) -> Admin:
    return Admin(conversation)


@pytest.fixture
def other(profile: ModelProfile) -> ModelProfile:
    return ModelProfile.objects.create(name="other", model_id="other-1", window=8_192, base_url=profile.base_url)


def streaming(conversation: Conversation) -> None:
    Message.objects.create(
        conversation=conversation, role="assistant", status=Message.Status.STREAMING, created_at=timezone.now()
    )


def test_all_settings_are_here() -> None:
    """Projects, and what is shared with them, are their owner's alone."""
    assert set(CHANGES) == set(SETTINGS) - {"shares_memory"}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_setting_ends_the_same_by_admin_and_by_api(
    user: User, admin: Admin, conversation: Conversation, other: ModelProfile, name: str
) -> None:
    api = await sync_to_async(Api)(user)
    before = {field.attname: getattr(conversation, field.attname) for field in Conversation._meta.concrete_fields}
    value = CHANGES[name]
    chosen = {name: other.pk if name == "model" else value}
    stored, events, status = await outcome(conversation, name, lambda: admin.saves(**chosen))
    await Conversation.objects.filter(pk=conversation.pk).aupdate(**before)
    conversation = await Conversation.objects.aget(pk=conversation.pk)
    address = f"/api/conversations/{conversation.pk}"
    assert (stored, events, 200) == await outcome(conversation, name, lambda: api.patch(address, {name: value}))
    assert status == 302 and stored != before[f"{name}_id" if name == "model" else name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_the_api_refuses_is_refused_beside_its_field(
    user: User, admin: Admin, conversation: Conversation, name: str
) -> None:
    by_api = Api(user).patch(f"/api/conversations/{conversation.pk}", {name: REFUSED[name]}).json()["error"]
    response = admin.saves(**{name: REFUSED[name], "title": "New"})
    assert response.status_code == 200
    errors = response.context["adminform"].form.errors
    assert list(errors) == [name]
    assert name == "system_prompt" or errors[name] == [by_api["message"]]
    conversation.refresh_from_db()
    assert (conversation.title, getattr(conversation, name)) != ("New", REFUSED[name]) and not conversation.title


def test_rules_without_room_in_the_window_are_refused(admin: Admin, conversation: Conversation) -> None:
    ModelProfile.objects.update(window=1_024)
    rules = [f"Rule {number}: " + "never restart anything on Fridays " * 5 for number in range(20)]
    errors = admin.saves(rules=rules).context["adminform"].form.errors
    assert "together they take" in errors["rules"][0]
    assert Conversation.objects.get().rules == []


def test_a_policy_that_names_a_model_that_is_gone_does_not_hinder_another_field(admin: Admin) -> None:
    Conversation.objects.update(policy={"summariser": "gone"})
    assert admin.saves(title="New").status_code == 302
    assert Conversation.objects.get().title == "New"


def test_the_model_is_not_changed_while_it_writes_a_reply(
    admin: Admin, conversation: Conversation, other: ModelProfile
) -> None:
    streaming(conversation)
    form = admin.saves(model=other.pk, title="New").context["adminform"].form
    assert "A reply is still being written" in form.non_field_errors()[0]
    assert (form["title"].value(), form["model"].value()) == ("New", str(other.pk))
    conversation.refresh_from_db()
    assert (conversation.model, conversation.title) != (other, "New")
    assert admin.saves(title="New").status_code == 302


def test_a_reply_that_begins_after_the_form_was_checked_leaves_all_as_it_was(
    admin: Admin, conversation: Conversation, other: ModelProfile
) -> None:
    begun: list[str] = []

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SAVEPOINT") and not begun:
            begun.append(sql)
            streaming(conversation)
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        response = admin.saves(model=other.pk, title="New")
    assert begun and response.status_code == 302
    assert "A reply is still being written" in admin.client.get(response["Location"]).content.decode()
    conversation.refresh_from_db()
    assert (conversation.model, conversation.title) != (other, "New") and not conversation.title


@pytest.mark.parametrize("change", [{"enabled": False}, {"role": "fast"}])
def test_only_a_model_that_a_person_may_choose_is_chosen(
    admin: Admin, conversation: Conversation, other: ModelProfile, change: dict[str, Any]
) -> None:
    ModelProfile.objects.filter(pk=other.pk).update(**change)
    assert "model" in admin.saves(model=other.pk).context["adminform"].form.errors
    Conversation.objects.update(model=other)
    assert admin.saves(title="New").status_code == 302, "the model that it has may stay"
    conversation.refresh_from_db()
    assert (conversation.model, conversation.title) == (other, "New")
