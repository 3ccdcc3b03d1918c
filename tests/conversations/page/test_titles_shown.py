"""Titles are one line, and what they look like."""

from __future__ import annotations

import re

import pytest

from conversations.exchange.imports import import_conversations
from conversations.models import Conversation, User
from tests.conversations.api_client import Api
from tests.conversations.pages import Pages

BROKEN = "Ports\r\nand\u2028hosts\tof\x0bbilling"


@pytest.mark.once
def test_line_breaks_in_a_title_become_blanks_whatever_way_it_comes_in(user: User) -> None:
    api = Api(user)
    made = api.post("/api/conversations", {"title": BROKEN}).json()
    assert made["title"] == "Ports and hosts of billing"
    row = Conversation.objects.get(pk=made["id"])
    assert api.patch(f"/api/conversations/{row.pk}", {"title": "a\nb"}).json()["title"] == "a b"
    Pages(user).post("rename", row.pk, title="c\nd")
    row.refresh_from_db()
    assert row.title == "c d"
    file = b'{"title": "e\\nf", "messages": [{"role": "user", "content": "hello"}]}'
    assert import_conversations(user, file).conversations[0].title == "e f"


@pytest.mark.once
def test_what_hides_in_a_title_is_seen_in_the_page(user: User) -> None:
    row = Conversation.objects.create(owner=user, title="safe\u202egpj.exe\u200b 👨\u200d👩\u200d👧")
    html = Pages(user).get("chat", row.pk).content.decode()
    assert "\u202e" not in re.sub(r'value="[^"]*"', "", html), "but in the fields that it is changed in"
    assert html.count("safe[U+202E]gpj.exe[U+200B] 👨\u200d👩\u200d👧") >= 3
