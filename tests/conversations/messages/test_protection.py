from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from conversations.compaction import compaction
from conversations.errors import NotFound
from conversations.messages.protection import protect
from conversations.models import Conversation, Message
from tests.conversations.chat import Chat, fill


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def message(number: int) -> Message:
    return await Message.objects.aget(content__startswith=f"Message {number} ")


async def test_a_protected_message_is_not_condensed_and_is_sent_word_for_word(filled: Conversation, chat: Chat) -> None:
    third = await message(3)
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    row = await chat.compact()
    assert row.messages_condensed == 15
    assert chat.conversation.verbatim_ids == [str(third.pk)]
    await chat.say("what did I pin?")
    await chat.check()
    assert third.content in [sent["content"] for sent in chat.llm.last_request.messages]


async def test_a_message_protected_after_it_was_condensed_is_sent_beside_the_summary(
    filled: Conversation, chat: Chat
) -> None:
    await chat.compact()
    third = await message(3)
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    await chat.say("what did I pin?")
    assert third.content in [sent["content"] for sent in chat.llm.last_request.messages]


async def test_one_that_is_no_longer_protected_is_condensed_by_the_next_compaction(
    filled: Conversation, chat: Chat
) -> None:
    third = await message(3)
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    await chat.compact()
    await sync_to_async(protect)(chat.conversation, third.pk, on=False)
    await chat.say("one more " + "pad " * 60)
    assert third.content in chat.llm.last_request.text
    await chat.say("two more " + "pad " * 60)
    assert (await chat.compact()).status == "succeeded"
    assert third.content in chat.llm.summaries[-1].text
    assert chat.conversation.verbatim_ids == []
    await chat.say("gone?")
    await chat.check()


async def test_undo_does_not_forget_what_was_protected_since(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await chat.say("one more " + "pad " * 80)
    await chat.say("two more " + "pad " * 80)
    assert (await chat.compact()).status == "succeeded"
    third = await message(3)
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    await sync_to_async(compaction.rollback)(chat.conversation)
    await chat.say("still pinned?")
    assert third.content in [sent["content"] for sent in chat.llm.last_request.messages]


async def test_a_message_protected_while_compressing_is_not_condensed(filled: Conversation, chat: Chat) -> None:
    chat.llm.summary_takes(seconds=0.4)
    row = await chat.start_compaction()
    third = await message(3)
    while not chat.llm.summaries:
        await chat.refresh()
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    assert (await chat.compacted(row.pk)).status == "discarded"
    assert not chat.conversation.is_compressed


async def test_a_foreign_message_cannot_be_protected(filled: Conversation, chat: Chat) -> None:
    other = await Conversation.objects.acreate(owner_id=filled.owner_id)
    third = await message(3)
    with pytest.raises(NotFound):
        await sync_to_async(protect)(other, third.pk, on=True)


def test_the_page_pins_unpins_and_folds_up_to_a_message(filled: Conversation, client: object, user: object) -> None:
    client.force_login(user)  # type: ignore[attr-defined]
    row = Message.objects.get(content__startswith="Message 17 ")
    address = reverse("protect", args=[filled.pk, row.pk])
    assert client.post(address, {"on": "1"}).status_code == 204  # type: ignore[attr-defined]
    assert Message.objects.get(pk=row.pk).is_protected
    tenth = Message.objects.get(content__startswith="Message 9 ")
    pinned, live = (
        client.get(reverse("message_menu", args=[filled.pk, one.pk])).content.decode()  # type: ignore[attr-defined]
        for one in (row, tenth)
    )
    assert "Unpin" in pinned and "Compact up to here" not in pinned
    assert "Unpin" not in live and "Compact up to here" in live
    assert client.post(address).status_code == 204  # type: ignore[attr-defined]
    assert not Message.objects.get(pk=row.pk).is_protected
    client.post(reverse("compact", args=[filled.pk]), {"up_to": str(tenth.pk)})  # type: ignore[attr-defined]
    filled.refresh_from_db()
    assert filled.compressed_at == tenth.created_at
