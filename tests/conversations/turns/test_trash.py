"""Deleting on a page moves a conversation to the trash: undone at once, or from the trash, for thirty days."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse
from django.utils import timezone

from conversations.access import own_conversations
from conversations.exchange.imports import import_conversations
from conversations.messages.search import find_hits
from conversations.models import Conversation, Message, User
from conversations.ops import maintenance
from conversations.turns import conversations
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def test_what_is_in_the_trash_is_nowhere_else(pages: Pages, user: User, conversation: Conversation) -> None:
    fill(conversation, 6)
    Conversation.objects.filter(pk=conversation.pk).update(title="Zebra ports")
    before = Message.objects.filter(conversation=conversation).count()
    pages.post("delete", conversation.pk)
    assert [pages.get(name, conversation.pk).status_code for name in ("chat", "thread", "context", "export")] == [
        404
    ] * 4
    assert pages.post("send", conversation.pk, content="hello").status_code == 404
    assert not own_conversations(user).exists()
    assert "Zebra" not in pages.get("home").content.decode()
    assert [find_hits(user, words).hits for words in ("zebra", "word1", "message")] == [()] * 3
    assert "Zebra ports" in pages.get("trash").content.decode()
    assert Message.objects.filter(conversation=conversation).count() == before, "nothing is lost"


def test_it_comes_back_as_it_was(pages: Pages, user: User, conversation: Conversation) -> None:
    fill(conversation, 6)
    shown = pages.get("thread", conversation.pk).content
    pages.post("delete", conversation.pk)
    line = pages.post("restore_trashed", conversation.pk)
    assert f"entry-{conversation.pk}" in line.content.decode()
    assert pages.get("thread", conversation.pk).content == shown
    assert pages.post("restore_trashed", conversation.pk).status_code == 404, "it is not in the trash any more"


def test_deleting_for_good_needs_the_trash_first(pages: Pages, conversation: Conversation) -> None:
    assert pages.post("delete_trashed", conversation.pk).status_code == 404
    pages.post("delete", conversation.pk)
    assert pages.post("delete_trashed", conversation.pk).status_code == 200
    assert not Conversation.objects.exists()


def test_the_trash_is_emptied_of_ones_own_alone(pages: Pages, user: User, conversation: Conversation) -> None:
    eve = User.objects.create_user("eve")
    theirs = Conversation.objects.create(owner=eve, trashed_at=timezone.now())
    kept = Conversation.objects.create(owner=user)
    pages.post("delete", conversation.pk)
    assert [pages.post(name, theirs.pk).status_code for name in ("restore_trashed", "delete_trashed")] == [404, 404]
    assert pages.post("empty_trash").headers["HX-Redirect"] == reverse("trash")
    assert set(Conversation.objects.values_list("pk", flat=True)) == {theirs.pk, kept.pk}


def test_after_thirty_days_it_is_deleted_with_its_executors(conversation: Conversation) -> None:
    thread = Conversation.objects.create(owner=conversation.owner, kind="executor", parent=conversation)
    conversations.trash(conversation)
    thread.refresh_from_db()
    assert thread.trashed_at is not None
    maintenance.tidy()
    assert Conversation.objects.count() == 2
    Conversation.objects.update(trashed_at=timezone.now() - timedelta(days=31))
    maintenance.tidy()
    assert not Conversation.objects.exists()


async def test_a_reply_under_way_ends_and_is_kept(chat: Chat) -> None:
    chat.llm.enqueue("One. " * 200, delay=0.05)
    begun = await chat.send("Write.")
    await sync_to_async(conversations.trash)(chat.conversation)
    reply = await chat.ended(begun.reply.pk)
    assert reply.status in ("stopped", "complete")


def test_an_export_that_comes_in_again_leaves_the_trash_alone(user: User) -> None:
    message = {"author": {"role": "user"}, "content": {"parts": ["hi"]}}
    file = json.dumps([{"conversation_id": "c", "title": "T", "mapping": {"a": {"message": message}}}]).encode()
    (first,) = import_conversations(user, file)
    conversations.trash(first)
    (second,) = import_conversations(user, file)
    assert second.pk != first.pk
