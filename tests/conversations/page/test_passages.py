"""The passages that were recalled for a reply, as the page shows them in their place."""

from __future__ import annotations

import html
import re
import time
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from conversations.models import Conversation, Message, User
from conversations.page.passages import marked
from tests.conversations.chat import START
from tests.conversations.pages import Pages

pytestmark = [pytest.mark.once, pytest.mark.django_db]


def found(text: str, question: str) -> list[str]:
    parts = marked(text, question)
    assert "".join(part.text for part in parts) == text
    assert all(part.text for part in parts)
    return [part.text for part in parts if part.is_found]


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("Invoice numbers are printed.", "Which number has the invoice?", ["Invoice", "numbers"]),
        ("The port is 5433 on node-7.", "What is the port of node-7?", ["port", "node", "7"]),
        ("Das Archiv liegt auf der Festplatte.", "Wo sind die Archive?", ["Archiv"]),
        ("Neu ist der Köder.", "Wie alt ist der koder?", ["Köder"]),
        ("服务器的端口是五四三三。", "端口是什么？", ["端口是"]),
        ("デプロイは金曜日です。", "デプロイはいつですか？", ["デプロイは", "です"]),
        ("It is what it is.", "What is it?", []),
        ("Ports.", "", []),
        ("", "Which ports?", []),
        ("Port", "Port?", ["Port"]),
    ],
)
def test_the_words_of_the_question_are_marked_in_any_form(text: str, question: str, words: list[str]) -> None:
    assert found(text, question) == words


@pytest.mark.parametrize("text", ["node ", "端口是五", "a-"])
def test_marking_takes_no_longer_than_the_text_grows(text: str) -> None:
    def seconds(times: int) -> float:
        long = text * times
        return min(_took(long) for _ in range(3))

    def _took(long: str) -> float:
        begun = time.process_time()
        marked(long, "Which node? 端口")
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(40_000) < 10 * max(seconds(10_000), 0.01)


@pytest.fixture
def reply(conversation: Conversation) -> Message:
    """Of a question that a passage with markup, and one of a tool, were quoted for."""
    texts = (("user", "The port of <b>alpha</b> is 5433."), ("assistant", "Noted: alpha listens there."))
    moments = (START + timedelta(minutes=number) for number in count())

    def says(role: str, text: str, **columns: Any) -> Message:
        moment = next(moments)
        return Message.objects.create(conversation=conversation, role=role, content=text, created_at=moment, **columns)

    past = [says(role, text) for role, text in texts]
    asked = says("user", "Which port has alpha?")
    quotes = [[str(row.pk), number, 0, len(row.content)] for number, row in enumerate(past, 1)]
    noted = {"recalled": {"before": str(asked.pk), "quotes": quotes}}
    return says("assistant", "5433.", request=noted)


def words(response: Any) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", response.content.decode()).split()))


def test_each_passage_has_its_source_and_its_marks(user: User, reply: Message, django_assert_num_queries: Any) -> None:
    pages, place = Pages(user), reply.conversation_id
    pages.get("recalled", place, reply.pk)
    with django_assert_num_queries(6):
        response = pages.get("recalled", place, reply.pk, htmx=True)
    page = response.content.decode()
    assert "The <mark>port</mark> of &lt;b&gt;<mark>alpha</mark>&lt;/b&gt; is 5433." in page
    assert re.findall(r"#(\d)\s+<b>(\w+)</b>", page) == [("1", "You"), ("2", "AI")]
    for id, *_ in reply.request["recalled"]["quotes"]:
        assert f'href="/c/{place}/#message-{id}"' in page
    assert re.search(r"[\d,]+ tokens, quoted in this request only", words(response))
    assert f'href="/c/{place}/messages/{reply.pk}/request?at=recalled#recalled"' in page


def test_a_deleted_source_is_named_as_one(user: User, reply: Message) -> None:
    Message.objects.filter(pk=reply.request["recalled"]["quotes"][0][0]).delete()
    response = Pages(user).get("recalled", reply.conversation_id, reply.pk)
    assert words(response) == "A message that was quoted is deleted. What the model saw"


def test_the_thread_carries_a_line_and_no_passage(user: User, reply: Message) -> None:
    response = Pages(user).get("message", reply.conversation_id, reply.pk)
    assert "2 passages recalled" in words(response)
    assert "5433 on" not in words(response) and "<mark>" not in response.content.decode()


def test_a_reply_without_passages_has_no_such_part(user: User, reply: Message) -> None:
    Message.objects.filter(pk=reply.pk).update(request=None)
    assert Pages(user).get("recalled", reply.conversation_id, reply.pk).status_code == 404


def test_nobody_else_sees_them(reply: Message) -> None:
    other = User.objects.create_user("mallory", password="correct horse battery")
    assert Pages(other).get("recalled", reply.conversation_id, reply.pk).status_code == 404
    assert Pages().get("recalled", reply.conversation_id, reply.pk).status_code == 302
