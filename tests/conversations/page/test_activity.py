"""The list beside open pages: what is being answered, and what has a reply that was not read."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conversations.models import Conversation, Message, User
from conversations.page.views.sidebar import activity_of, sidebar
from tests.conversations.pages import Pages


def reply(conversation: Conversation, *, seconds_ago: float = 0, **fields: Any) -> Message:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    return Message.objects.create(conversation=conversation, role="assistant", created_at=at, **fields)


def asked(pages: Pages, **form: Any) -> Any:
    return pages.client.post("/activity", form, headers={"HX-Request": "true"})


def told(user: User, **form: Any) -> tuple[str, dict[str, Any]]:
    response = asked(Pages(user), **form)
    if response.status_code == 204:
        return "", {}
    return response.content.decode(), json.loads(response["HX-Trigger"])["activity"]


def test_a_reply_is_new_until_its_chat_is_before_its_owner(user: User, conversation: Conversation) -> None:
    other = Conversation.objects.create(owner=user, title="Other")
    Conversation.objects.update(seen_at=timezone.now() - timedelta(seconds=60))
    reply(conversation, seconds_ago=10)
    html, event = told(user, at=other.pk)
    assert html.count('class="unread"') == 1
    assert event["states"][str(conversation.pk)][0] == "unread"
    assert event["states"][str(other.pk)] == ["", "Other"]
    html, event = told(user, at=conversation.pk, stamp=event["stamp"])
    assert 'class="unread"' not in html
    assert told(user, stamp=event["stamp"]) == ("", {})


def test_a_reply_that_is_being_written_turns_and_is_new_when_it_ends_unseen(
    user: User, conversation: Conversation
) -> None:
    row = reply(conversation, seconds_ago=30, status="streaming")
    html, event = told(user, at=conversation.pk)
    assert 'class="spinner"' in html
    assert event["states"][str(conversation.pk)][0] == "writing"
    Conversation.objects.update(seen_at=timezone.now() - timedelta(seconds=20))
    Message.objects.filter(pk=row.pk).update(status="complete", duration_ms=29_000)
    assert told(user, stamp=event["stamp"])[1]["states"][str(conversation.pk)][0] == "unread"


def test_chats_from_before_this_was_tracked_and_replaced_replies_are_not_new(
    user: User, conversation: Conversation
) -> None:
    last = reply(conversation)
    Conversation.objects.update(seen_at=None)
    assert 'class="unread"' not in told(user)[0]
    Conversation.objects.update(seen_at=timezone.now() - timedelta(seconds=60))
    Message.objects.filter(pk=last.pk).update(replaced_by=last)
    assert 'class="unread"' not in told(user)[0]


def test_a_title_and_an_order_that_change_change_the_stamp(user: User, conversation: Conversation) -> None:
    first = told(user)[1]["stamp"]
    Conversation.objects.create(owner=user, title="Newer")
    second = told(user, stamp=first)[1]["stamp"]
    Conversation.objects.filter(pk=conversation.pk).update(title="Renamed")
    assert "Renamed" in told(user, stamp=second)[0]


def test_nobody_sees_or_marks_the_chats_of_another(user: User, conversation: Conversation) -> None:
    Conversation.objects.update(seen_at=timezone.now() - timedelta(seconds=60), title="private")
    reply(conversation)
    bob = User.objects.create_user("bob")
    html, event = told(bob, at=conversation.pk)
    assert "private" not in html
    assert event["states"] == {}
    assert activity_of(sidebar(user).conversations[0]) == "unread"
    assert asked(Pages(bob), at="x").status_code == 400
    assert asked(Pages())["HX-Redirect"].startswith("/accounts/login/")


def test_asking_takes_the_same_queries_however_many_chats_there_are(user: User, conversation: Conversation) -> None:
    pages, counts = Pages(user), []
    for number in range(50):
        if number in (0, 49):
            with CaptureQueriesContext(connection) as ran:
                asked(pages)
            counts.append(len(ran))
        reply(Conversation.objects.create(owner=user, title=str(number)))
    assert counts[0] == counts[1] <= 4
