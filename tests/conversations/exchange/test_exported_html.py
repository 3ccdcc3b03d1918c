"""A conversation as an HTML file, and as a page to print."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conversations.exchange.markdown import as_markdown
from conversations.messages.attachments import upload
from conversations.models import Conversation, ToolCall, User
from tests.conversations.chat import START, fill
from tests.conversations.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def exported(client: Client, conversation: Conversation, kind: str = "html") -> str:
    response = client.get(reverse("export", args=[conversation.pk]), {"format": kind})
    assert response.status_code == 200 and response["Content-Type"].startswith("text/html")
    assert ("attachment" in response.get("Content-Disposition", "")) is (kind == "html")
    assert not response.streaming  # a server would render it after the view, all at once, and log a warning
    return str(response.content.decode())


def test_the_file_has_all_words_and_needs_nothing_else(page: Client, conversation: Conversation) -> None:
    fill(conversation, 4)
    reply = conversation.messages.filter(role="assistant").first()
    assert reply
    reply.content = "Use **5433**: $x^2$\n\n```python\nport = 5433\n```\n<script>alert(1)</script>"
    reply.save()
    ToolCall.objects.create(
        message=reply, call_id="1", name="look_up", created_at=START, arguments='{"a": "<b>"}', result="<i>found</i>"
    )
    html = exported(page, conversation)
    assert "<strong>5433</strong>" in html and "<math" in html and "port = 5433" in html
    assert "&lt;i&gt;found&lt;/i&gt;" in html and "look_up" in html
    for message in conversation.messages.filter(role="user"):
        assert message.content in html
    assert "<script" not in html and "&lt;script&gt;" in html
    assert not re.search(r"""(?:src|href)=["']?(?!https?:|data:|mailto:)""", html), "the file must stand alone"
    assert "default-src 'none'" in html and "break-inside" in html


def test_the_colours_of_a_terminal_are_left_out_of_results(page: Client, conversation: Conversation) -> None:
    fill(conversation, 2)
    reply = conversation.messages.get(role="assistant")
    coloured = "\x1b[1;31mFAILED\x1b[0m tests/a.py\x1b[K \x1b]0;title\x07done"
    ToolCall.objects.create(message=reply, call_id="1", name="run", created_at=START, arguments="{}", result=coloured)
    shown = page.get(reverse("chat", args=[conversation.pk])).content.decode()
    for text in (shown, exported(page, conversation), as_markdown(conversation)):
        assert "FAILED tests/a.py done" in text and "\x1b" not in text
    assert ToolCall.objects.get().result == coloured, "the original is kept"


def test_images_are_in_the_file(page: Client, conversation: Conversation) -> None:
    file = upload(conversation, name="map.png", data=picture())
    message = conversation.messages.create(role="user", content="Look.", created_at=START)
    type(file).objects.filter(pk=file.pk).update(message=message)
    assert 'src="data:image/png;base64,' in exported(page, conversation)


def test_the_page_to_print_opens_the_dialog_with_the_site_s_own_styles(
    page: Client, conversation: Conversation
) -> None:
    fill(conversation, 2)
    html = exported(page, conversation, "print")
    assert "print.js" in html and "exported.css" in html and "<style" not in html


def test_another_person_s_conversation_is_not_exported(client: Client, conversation: Conversation) -> None:
    client.force_login(User.objects.create_user("eve"))
    for kind in ("html", "print"):
        assert client.get(reverse("export", args=[conversation.pk]), {"format": kind}).status_code == 404


def test_a_long_conversation_costs_as_many_queries_as_a_short_one(page: Client, conversation: Conversation) -> None:
    fill(conversation, 60)
    counts = []
    for kept in (60, 4):
        late = conversation.messages.order_by("created_at").values_list("pk", flat=True)[kept:]
        conversation.messages.filter(pk__in=list(late)).delete()
        with CaptureQueriesContext(connection) as queries:
            exported(page, conversation)
        counts.append(len(queries))
    assert counts[0] == counts[1]
