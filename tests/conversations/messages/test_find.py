"""Finding words and dates in one chat."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.models import Conversation, Message, User
from tests.conversations.pages import Pages

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def said(conversation: Conversation) -> list[Message]:
    texts = ["The port is 5433.", "Noted: Port 5433", "ports and ships", "the weather", "PORT <b>of call</b>"]
    return [
        Message.objects.create(
            conversation=conversation,
            role=("user", "assistant")[n % 2],
            content=text,
            created_at=START + timedelta(days=n),
        )
        for n, text in enumerate(texts)
    ]


def found(user: User, conversation: Conversation, **query: str) -> list[str]:
    html = Pages(user).get("find", conversation.pk, **query).content.decode()
    (ids,) = re.findall(r'data-finds="([^"]*)"', html)
    return str(ids).split()


def test_messages_with_all_words_are_found_in_their_order(
    user: User, conversation: Conversation, said: list[Message]
) -> None:
    assert found(user, conversation, q="port") == [str(said[n].pk) for n in (0, 1, 2, 4)]
    assert found(user, conversation, q="5433 port") == [str(said[n].pk) for n in (0, 1)]
    assert found(user, conversation, q='"port 5433"') == [str(said[1].pk)]
    assert found(user, conversation, q="<b>of") == [str(said[4].pk)]
    assert found(user, conversation, q="nowhere") == found(user, conversation, q=" ") == found(user, conversation) == []


def test_replaced_messages_and_other_chats_are_not_found(
    user: User, conversation: Conversation, said: list[Message]
) -> None:
    Message.objects.filter(pk=said[0].pk).update(replaced_by=said[4])
    other = Conversation.objects.create(owner=user)
    Message.objects.create(conversation=other, role="user", content="port", created_at=START)
    assert found(user, conversation, q="port") == [str(said[n].pk) for n in (1, 2, 4)]


def test_a_date_leads_to_the_first_message_since(user: User, conversation: Conversation, said: list[Message]) -> None:
    assert found(user, conversation, since="2026-03-02T00:00:00Z") == [str(said[1].pk)]
    assert found(user, conversation, since="2020-01-01T00:00:00+02:00") == [str(said[0].pk)]
    assert found(user, conversation, since="2030-01-01T00:00:00Z") == [str(said[4].pk)]
    empty = Conversation.objects.create(owner=user)
    assert found(user, empty, since="2026-03-02T00:00:00Z") == []


@pytest.mark.parametrize("query", [{"q": "a" * 201}, {"since": "yesterday"}, {"since": "2026-03-02T00:00:00"}])
def test_bad_questions_are_refused(user: User, conversation: Conversation, query: dict[str, str]) -> None:
    assert Pages(user).get("find", conversation.pk, **query).status_code == 400


def test_a_chat_of_another_person_is_not_searched(user: User, conversation: Conversation, said: list[Message]) -> None:
    assert Pages(User.objects.create_user("bob")).get("find", conversation.pk, q="port").status_code == 404


def test_at_most_a_thousand_messages_are_named_in_a_constant_number_of_queries(
    user: User, conversation: Conversation
) -> None:
    rows = [
        Message(conversation=conversation, role="user", content="port", created_at=START + timedelta(seconds=n))
        for n in range(1_100)
    ]
    Message.objects.bulk_create(rows)
    pages = Pages(user)
    with CaptureQueriesContext(connection) as ran:
        html = pages.get("find", conversation.pk, q="port").content.decode()
    assert len(ran) <= 8
    assert "data-cut" in html
    (ids,) = re.findall(r'data-finds="([^"]*)"', html)
    assert ids.split() == [str(row.pk) for row in rows[100:]]
