"""What the model saw, as a page and by the API; whose it is to see."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from compression.core.values import Steering
from conversations.compaction import compaction
from conversations.models import Conversation, Message, User
from conversations.requests import replay
from conversations.turns import begin
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def other(user: User) -> User:
    return User.objects.create_user("mallory", password="correct horse battery")


@pytest.fixture
def replies(conversation: Conversation) -> list[Message]:
    """Of three turns, with a compaction before the last."""
    fill(conversation, 12)
    found = [said(conversation, "First?"), said(conversation, "Second <b>bold</b>?")]
    compaction.request(conversation, trigger="manual", steering=Steering())
    return [*found, said(conversation, "Third?")]


def said(conversation: Conversation, content: str) -> Message:
    """Where there is no server, what is enqueued runs at once."""
    reply = begin.begin(conversation, content=content).reply
    reply.refresh_from_db()
    assert reply.status == "complete"
    return reply


def address(reply: Message) -> str:
    return f"/api/conversations/{reply.conversation_id}/messages/{reply.pk}/request"


def parts_of(page: str) -> list[str]:
    return re.findall(r'<li class="part (\w+)">', page)


def test_each_reply_opens_what_the_model_saw(replies: list[Message], pages: Pages) -> None:
    for reply in replies:
        assert reverse("request", args=[reply.conversation_id, reply.pk]) in links_of(pages, reply)
    question = Message.objects.get(content="Third?")
    assert reverse("request", args=[question.conversation_id, question.pk]) not in links_of(pages, question)


def links_of(pages: Pages, row: Message) -> list[str | None]:
    """Where the message's menu leads to in the panel."""
    menu = elements(pages.get("message_menu", row.conversation_id, row.pk))
    return [one.get("href") for one in menu.with_attribute("hx-target") if one["hx-target"] == "#reader"]


def test_the_page_shows_the_request_part_by_part(replies: list[Message], pages: Pages, llm: LlmServer) -> None:
    ids = replies[2].conversation_id, replies[2].pk
    whole, panel = pages.get("request", *ids), pages.get("request", *ids, htmx=True)
    assert "<html" in whole.content.decode() and "<html" not in panel.content.decode()
    for page in (whole.content.decode(), panel.content.decode()):
        parts, _, gone = page.partition("Not sent any more")
        assert parts_of(parts) == ["system", "summary", *["live"] * 5]
        assert len(parts_of(gone)) > 5
        assert replies[2].request["hash"] in page
        assert "Exactly what was sent" in page
        assert "Third?" in page
        assert "<b>bold</b>" not in page
    assert "checkpoint 1" in panel.content.decode()
    assert len(llm.chats[-1].messages) == 7


def test_it_is_compared_with_the_turn_before_or_with_any_other(replies: list[Message], pages: Pages) -> None:
    first, second, third = replies
    page = pages.get("request", second.conversation_id, second.pk, htmx=True)
    assert page.content.decode().count('class="fresh"') == 2
    assert selected(page) == str(first.pk)
    page = pages.get("request", second.conversation_id, second.pk, htmx=True, against=str(third.pk))
    assert selected(page) == str(third.pk)
    page = pages.get("request", first.conversation_id, first.pk, htmx=True)
    assert selected(page) == ""
    assert "added" not in page.content.decode()


def selected(page: Any) -> str:
    (only,) = [one["value"] for one in elements(page).with_attribute("selected")]
    return only


def test_a_request_that_cannot_be_told_exactly_says_so(replies: list[Message], pages: Pages) -> None:
    replies[2].conversation.checkpoints.all().delete()
    page = pages.get("request", replies[2].conversation_id, replies[2].pk).content.decode()
    assert "Not exactly what was sent. No longer there: the summary." in page


def test_very_long_requests_are_shown_in_part(
    replies: list[Message], pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.page.views.requests.SHOWN", 6)
    page = pages.get("request", replies[1].conversation_id, replies[1].pk, htmx=True).content.decode()
    assert len(parts_of(page)) == 6
    assert "10 more" in page
    assert "Second" in page


def test_what_has_no_record_and_bad_ids_are_told_in_words(replies: list[Message], pages: Pages) -> None:
    question = Message.objects.get(content="First?")
    page = pages.get("request", question.conversation_id, question.pk)
    assert (page.status_code, "There are records only for replies" in page.content.decode()) == (404, True)
    reply = replies[0]
    assert pages.get("request", reply.conversation_id, NOBODY).status_code == 404
    assert pages.get("request", reply.conversation_id, reply.pk, against="x").status_code == 400
    assert pages.get("request", reply.conversation_id, reply.pk, against=NOBODY).status_code == 404


def test_others_do_not_see_it_and_administrators_do(replies: list[Message], other: User) -> None:
    reply = replies[0]
    ids = reply.conversation_id, reply.pk
    assert Pages().get("request", *ids).status_code == 302
    assert Pages(other).get("request", *ids).status_code == 404
    other.is_staff = True
    other.save()
    assert Pages(other).get("request", *ids).status_code == 404
    other.user_permissions.add(Permission.objects.get(codename="view_conversation"))
    page = Pages(other).get("request", *ids)
    assert page.status_code == 200
    assert reverse("admin:conversations_conversation_change", args=[ids[0]]) in page.content.decode()
    assert "Go to it" not in page.content.decode()
    other.is_staff = False
    other.save()
    assert Pages(other).get("request", *ids).status_code == 404


def test_the_admin_leads_to_the_last_turn_of_a_conversation(replies: list[Message], other: User) -> None:
    other.is_staff = other.is_superuser = True
    other.save()
    admin = Pages(other).get("admin:conversations_conversation_change", replies[0].conversation_id)
    assert reverse("request", args=[replies[2].conversation_id, replies[2].pk]) in admin.content.decode()


def test_the_api_tells_exactly_what_was_sent(replies: list[Message], user: User, llm: LlmServer) -> None:
    told = Api(user).get(address(replies[2])).json()
    assert told["messages"] == llm.chats[-1].body["messages"]
    assert (told["model"], told["model_id"], told["max_tokens"]) == ("scripted", "scripted", None)
    assert (told["is_exact"], told["why"], told["hash"]) == (True, None, replies[2].request["hash"])
    assert [part["kind"] for part in told["parts"]] == ["system", "summary", *["live"] * 5]
    assert told["parts"][-1]["message_id"] == str(Message.objects.get(content="Third?").pk)
    assert told["parts"][1]["checkpoints"] == [1]
    assert told["usage"]["total"] == sum(part["tokens"] for part in told["parts"])
    assert told["usage"]["window"] == 4_000
    assert "changes" not in told


def test_the_api_compares_two_requests(replies: list[Message], user: User) -> None:
    first, second, _ = replies
    changes = Api(user).get(address(second), against=str(first.pk)).json()["changes"]
    assert changes["against"] == str(first.pk)
    assert [part["role"] for part in changes["added"]] == ["assistant", "user"]
    assert changes["removed"] == []
    assert len(changes["kept"]) == 14
    assert changes["prefix_tokens"] == replay.replay(first.conversation, first.pk).total


def test_the_api_refuses_what_is_anothers_or_has_no_record(replies: list[Message], user: User, other: User) -> None:
    reply, question = replies[0], Message.objects.get(content="First?")
    refused(Api(other).get(address(reply)), 404, "not_found")
    refused(Api(user).get(address(question)), 404, "no_record")
    refused(Api(user).get(address(reply), against=str(question.pk)), 404, "no_record")
    refused(Api(user).get(address(reply), against="x"), 400, "invalid")
    refused(Api(user).get(address(reply).replace(str(reply.pk), NOBODY)), 404, "not_found")


def test_the_queries_of_the_page_do_not_grow_with_the_request(
    replies: list[Message], pages: Pages, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(18):
        pages.get("request", replies[2].conversation_id, replies[2].pk, htmx=True)
