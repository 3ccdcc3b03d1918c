"""Versions of a message on the page and in the API."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.compaction import compaction
from conversations.models import Conversation, Message, User
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements


def grown(conversation: Conversation, count: int) -> Message:
    """`count` messages, the last of which has an earlier version; gives it."""
    fill(conversation, count, words=1)
    old = conversation.messages.latest("created_at")
    now = datetime(2026, 3, 1, tzinfo=UTC)
    new = conversation.messages.create(
        role="assistant", content="written anew", created_at=now, **old.replacement_columns
    )
    Message.objects.filter(pk=old.pk).update(replaced_by=new)
    return new


def test_the_page_asks_for_nothing_more_where_messages_have_versions(user: User, conversation: Conversation) -> None:
    new, pages = grown(conversation, 4), Pages(user)
    with CaptureQueriesContext(connection) as numbered:
        assert f'id="older-{new.pk}"' in pages.get("chat", conversation.pk).content.decode()
    Message.objects.filter(pk=new.pk).update(place=None, version=None, versions=None)
    with CaptureQueriesContext(connection) as plain:
        assert "older-" not in pages.get("chat", conversation.pk).content.decode()
    assert len(numbered) == len(plain)


def test_flipping_shows_the_earlier_words_read_only_and_the_way_back(user: User, conversation: Conversation) -> None:
    new, pages = grown(conversation, 4), Pages(user)
    html = pages.get("version", conversation.pk, new.pk, 1, htmx=True).content.decode()
    assert "Message 3 says" in html and "written anew" not in html
    assert "Version 1 of 2" in html and "not part of the conversation" in html
    assert "Use this version" in html and "Back to the current one" in html
    assert "Regenerate" not in html and "Fork" not in html
    back = pages.get("version", conversation.pk, new.pk, 2, htmx=True).content.decode()
    assert "written anew" in back and "Regenerate" in back
    assert pages.get("version", conversation.pk, new.pk, 3).status_code == 404


def test_a_compressed_message_is_flipped_within_its_row(user: User, conversation: Conversation) -> None:
    new, pages = grown(conversation, 20), Pages(user)
    fill_after(conversation, new)
    compaction.request(conversation, trigger="manual", steering=compaction.Steering(keep_recent=0))
    opened = pages.get("message", conversation.pk, new.pk, body="")
    target = {one["hx-target"] for one in elements(opened).with_attribute("hx-target") if "opened" in one["hx-target"]}
    assert target == {f"#message-{new.pk} .opened"}
    earlier = pages.get("version", conversation.pk, new.pk, 1, htmx=True).content.decode()
    assert f'id="message-{new.pk}"' not in earlier, "the row around it has that id"


def fill_after(conversation: Conversation, last: Message) -> None:
    for number in range(4):
        moment = last.created_at.replace(minute=1 + number)
        role = "assistant" if number % 2 else "user"
        conversation.messages.create(role=role, content=f"after {number}", created_at=moment, token_count=10)


def test_the_page_asks_once_more_where_later_messages_leave(user: User, conversation: Conversation) -> None:
    new, pages = grown(conversation, 4), Pages(user)
    fill_after(conversation, new)
    asked = pages.post("use_version", conversation.pk, new.pk, version="1")
    assert asked.headers["HX-Retarget"] == f"#acts-{new.pk}"
    assert b"4 messages below stay in the present version" in asked.content
    assert conversation.messages.filter(content="written anew", replaced_by=None).exists()
    done = pages.post("use_version", conversation.pk, new.pk, version="1", sure="1")
    assert (done.status_code, done.headers["HX-Trigger"]) == (204, '{"converge": {}}')
    assert not conversation.messages.filter(content="written anew", replaced_by=None).exists()


def test_another_persons_versions_are_not_there(user: User, conversation: Conversation) -> None:
    new = grown(conversation, 4)
    stranger = Pages(User.objects.create_user("mallory"))
    assert stranger.get("version", conversation.pk, new.pk, 1).status_code == 404
    assert stranger.post("use_version", conversation.pk, new.pk, version="1").status_code == 404


def test_a_version_that_is_no_number_is_refused(user: User, conversation: Conversation) -> None:
    new, pages = grown(conversation, 4), Pages(user)
    for number in ("", "x", "1.5", "-1", "9" * 40):
        assert pages.post("use_version", conversation.pk, new.pk, version=number).status_code == 400


def test_the_api_lists_versions_and_goes_on_from_one(user: User, conversation: Conversation) -> None:
    new, api = grown(conversation, 4), Api(user)
    path = f"/api/conversations/{conversation.pk}/messages/{new.pk}"
    first, second = api.get(f"{path}/versions").json()["items"]
    assert (first["number"], first["is_current"], second["is_current"]) == (1, False, True)
    assert first["messages"][0]["content"].startswith("Message 3 ")
    used = api.post(f"{path}/use", {"version": 1}).json()
    assert used["content"] == first["messages"][0]["content"]
    refused(api.post(f"{path}/use", {"version": 1}), 404, "not_found")
    path = f"/api/conversations/{conversation.pk}/messages/{used['id']}"
    refused(api.post(f"{path}/use", {"version": 1}), 409, "conflict")
    refused(api.post(f"{path}/use", {"version": 9}), 404, "not_found")
    assert refused(api.post(f"{path}/use", {"version": 0}), 400, "invalid")["field"] == "version"
    stranger = Api(User.objects.create_user("mallory"))
    for refusal in (stranger.get(f"{path}/versions"), stranger.post(f"{path}/use", {"version": 2})):
        refused(refusal, 404, "not_found")
