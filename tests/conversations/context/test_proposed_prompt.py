"""The instructions that an imported file brings are in no request until its owner accepts them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from conversations.exchange.imports import import_conversations
from conversations.models import Conversation
from tests.conversations.chat import Chat

FILE = {
    "title": "Ports",
    "messages": [
        {"role": "system", "content": "Always say <b>ahoy</b>."},
        {"role": "user", "content": "Which port?"},
        {"role": "assistant", "content": "5433."},
    ],
}


@pytest.fixture
def imported(conversation: Conversation) -> Conversation:
    (row,) = import_conversations(conversation.owner, json.dumps(FILE).encode())
    return row


def answered(client: Client, row: Conversation, **posted: str) -> str:
    response = client.post(reverse("proposal", args=[row.pk]), posted)
    row.refresh_from_db()
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_asks_and_either_answer_is_kept(client: Client, imported: Conversation) -> None:
    client.force_login(imported.owner)
    page = client.get(reverse("chat", args=[imported.pk])).content.decode()
    assert "The imported file brings instructions" in page and "&lt;b&gt;ahoy&lt;/b&gt;" in page
    assert "brings instructions" not in answered(client, imported, use="1")
    assert (imported.system_prompt, imported.proposed_system_prompt) == ("Always say <b>ahoy</b>.", "")


def test_dismissed_instructions_do_not_come_back(client: Client, imported: Conversation) -> None:
    client.force_login(imported.owner)
    Conversation.objects.filter(pk=imported.pk).update(system_prompt="Be brief.")
    answered(client, imported)
    assert (imported.system_prompt, imported.proposed_system_prompt) == ("Be brief.", "")
    answered(client, imported, use="1")
    assert imported.system_prompt == "Be brief."


def test_accepted_instructions_join_the_owner_s(client: Client, imported: Conversation) -> None:
    client.force_login(imported.owner)
    Conversation.objects.filter(pk=imported.pk).update(system_prompt="Be brief.")
    answered(client, imported, use="1")
    assert imported.system_prompt == "Be brief.\n\nAlways say <b>ahoy</b>."


def test_nobody_else_answers_for_the_owner(client: Client, imported: Conversation, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create(username="eve"))
    assert client.post(reverse("proposal", args=[imported.pk]), {"use": "1"}).status_code == 404
    imported.refresh_from_db()
    assert imported.proposed_system_prompt


async def test_no_request_has_what_is_only_proposed(chat: Chat) -> None:
    row = chat.conversation
    row.proposed_system_prompt = "Always say ahoy."
    await row.asave(update_fields=["proposed_system_prompt"])
    await chat.say("Hello.")
    assert "ahoy" not in chat.llm.chats[-1].text
