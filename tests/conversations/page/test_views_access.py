"""Every address: who may not, and what they are told."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse

from conversations.models import Conversation, User
from conversations.urls import urlpatterns
from tests.conversations.api_client import Api, refused
from tests.conversations.pages import BACKEND, Pages

pytestmark = pytest.mark.once

READ = ["chat", "thread", "status", "export"]
READ_ONE = ["message", "compaction"]
ACT = ["send", "stop", "compact", "rename", "pin", "archive", "delete"]
ACT_ONE = ["retry", "undo"]


@pytest.fixture
def stranger(conversation: Conversation) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("mallory", password="x"), backend=BACKEND)
    return client


def addresses(names: list[str], *ids: UUID) -> list[str]:
    return [reverse(name, args=ids) for name in names]


def every_read(conversation: Conversation) -> list[str]:
    return addresses(READ, conversation.pk) + addresses(READ_ONE, conversation.pk, uuid4())


def every_act(conversation: Conversation) -> list[str]:
    return addresses(ACT, conversation.pk) + addresses(ACT_ONE, conversation.pk, uuid4())


def test_a_page_without_an_icon_of_its_own_gets_the_site_s(client: Client) -> None:
    assert client.get("/favicon.ico").headers["Location"] == "/static/favicon.svg"


def test_nothing_at_all_of_another_persons_conversation_is_found(conversation: Conversation, stranger: Client) -> None:
    """Every address that a conversation has, whether it is read there or changed."""
    row = conversation.messages.create(role="user", content="x", created_at=conversation.created_at)
    known = {"pk": conversation.pk, "message_id": row.pk, "number": 1}
    patterns = [one for one in urlpatterns if "<uuid:pk>" in str(one.pattern)]
    assert len(patterns) > 40
    for pattern in patterns:
        values = {name: known.get(name) or uuid4() for name in pattern.pattern.converters}
        address = reverse(str(pattern.name), kwargs=values)
        told = {client.status_code for client in (stranger.get(address), stranger.post(address, {"title": "mine"}))}
        assert 404 in told and told <= {404, 405}, address
    conversation.refresh_from_db()
    assert conversation.title == ""


def test_what_was_deleted_while_it_was_changed_is_not_there(conversation: Conversation, user: User) -> None:
    def goes(instance: Conversation, **_: Any) -> None:
        Conversation.objects.filter(pk=instance.pk).delete()

    pre_save.connect(goes, sender=Conversation)
    try:
        assert Pages(user).post("mode", conversation.pk, mode="planning").status_code == 404
        other = Conversation.objects.create(owner=user)
        refused(Api(user).patch(f"/api/conversations/{other.pk}", {"title": "Ports"}), 404, "not_found")
    finally:
        pre_save.disconnect(goes, sender=Conversation)


def test_anonymous_people_are_sent_to_the_sign_in(conversation: Conversation) -> None:
    responses = [Client().get(address) for address in ["/", "/search", *every_read(conversation)]]
    responses += [Client().post(address) for address in ["/import", "/c/new", "/c/sample", *every_act(conversation)]]
    assert {response.status_code for response in responses} == {302}
    assert all(response.headers["Location"].startswith("/accounts/login/") for response in responses)


def test_what_acts_wants_a_post_with_a_token(conversation: Conversation, user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user, backend=BACKEND)
    for address in ["/import", "/c/new", "/c/sample", *every_act(conversation)]:
        assert client.post(address).status_code == 403, address
    for address in every_act(conversation):
        assert client.get(address).status_code == 405, address


def test_a_message_of_another_conversation_is_not_found_here(conversation: Conversation, user: User) -> None:
    elsewhere = Conversation.objects.create(owner=user)
    row = elsewhere.messages.create(role="user", content="x", created_at=elsewhere.created_at)
    assert Pages(user).get("message", conversation.pk, row.pk).status_code == 404


def test_the_policy_forbids_inline_script_and_style(conversation: Conversation, user: User) -> None:
    response = Pages(user).get("chat", conversation.pk)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    told = dict(directive.strip().split(" ", 1) for directive in policy.split(";"))
    barred = {name: told[name] for name in ("frame-ancestors", "object-src", "base-uri")}
    assert barred == dict.fromkeys(barred, "'none'"), "no other page may frame this one"
    assert told["form-action"] == "'self'"
    html = response.content.decode()
    assert " style=" not in html and "<style" not in html and " onclick=" not in html
    assert html.count("<script") == html.count("<script src=")
