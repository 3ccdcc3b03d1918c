"""After an undo nothing is compacted by itself until the owner chooses how to go on."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Compaction
from conversations.compaction import after_undo, compaction
from conversations.instructions import conversation_settings
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.requests import usage
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once


async def undo_of_one(chat: Chat) -> Compaction:
    await sync_to_async(fill)(chat.conversation, 18, words=62)
    row = await chat.compact()
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    await chat.refresh()
    assert chat.conversation.compressed_at is None and chat.conversation.undone_at is not None
    return row


async def automatic() -> int:
    return await Compaction.objects.filter(trigger__in=("auto", "ahead", "emergency")).acount()


async def test_later_messages_are_sent_whole(conversation: Conversation, chat: Chat, settings: Any) -> None:
    settings.COMPRESSION_AHEAD = True
    await Conversation.objects.aupdate(policy={"threshold": 0.6})
    await undo_of_one(chat)
    used = await sync_to_async(usage.usage_of_conversation)(chat.conversation)
    assert used is not None and used.ratio > 0.6 and not used.over_budget
    for text in ("first?", "second?"):
        reply = await chat.say(text)
        assert reply.status == "complete", reply.error
        assert "[Compressed" not in chat.llm.chats[-1].text
        await chat.check()
    assert await automatic() == 0


async def test_a_chat_that_no_longer_fits_says_so_and_goes_on_once_the_owner_has_chosen(
    conversation: Conversation, chat: Chat
) -> None:
    await undo_of_one(chat)
    refused = await chat.say("so " * 700 + "what now?")
    assert refused.status == "failed" and after_undo.TOO_LONG in refused.error
    assert await automatic() == 0 and not await Message.objects.filter(replaced_by__isnull=False).aexists()
    assert (await chat.compact()).status == "succeeded"
    await chat.refresh()
    assert chat.conversation.undone_at is None
    assert (await chat.say("and now?")).status == "complete"
    await chat.check()


@pytest.mark.parametrize("choice", ["model", "policy", "again"])
async def test_it_is_compacted_by_itself_again_after_a_choice(
    conversation: Conversation, chat: Chat, choice: str
) -> None:
    await undo_of_one(chat)
    match choice:
        case "model":
            other = await ModelProfile.objects.aget()
            other.pk, other.name = None, "another"
            await other.asave()
            await sync_to_async(conversation_settings.change)(chat.conversation, model=other)
        case "policy":
            await sync_to_async(conversation_settings.change)(chat.conversation, policy={"keep_recent": 6})
        case _:
            await sync_to_async(after_undo.resume)(chat.conversation.pk)
    assert (await chat.say("so " * 700 + "what now?")).status == "complete"
    assert await automatic() == 1
    await chat.check()


async def test_restoring_what_was_undone_is_a_choice(conversation: Conversation, chat: Chat) -> None:
    row = await undo_of_one(chat)
    recovery = await chat.conversation.snapshots.aget(purpose="recovery")
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=recovery.pk)
    await chat.refresh()
    assert chat.conversation.compressed_at is not None and chat.conversation.undone_at is None
    assert (await Compaction.objects.aget(pk=row.pk)).status == "succeeded"


async def test_less_is_compacted_up_to_the_middle_of_what_was_undone(conversation: Conversation, chat: Chat) -> None:
    row = await undo_of_one(chat)
    middle = await sync_to_async(after_undo.older_half)(chat.conversation)
    less = await chat.compact(up_to=str(middle))
    assert less.status == "succeeded"
    assert row.messages_condensed // 2 - 2 <= less.messages_condensed <= row.messages_condensed // 2
    await chat.refresh()
    following = await chat.conversation.messages.filter(created_at__gt=chat.conversation.compressed_at).afirst()
    assert following is not None and following.role == "user"
    await chat.check() if chat.llm.chats else None


async def test_less_is_of_what_was_undone_beside_an_earlier_compaction(conversation: Conversation, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(window=16_000)
    await sync_to_async(fill)(conversation, 60)
    await chat.compact(keep_recent=24)
    await chat.refresh()
    earlier = chat.conversation.compressed_at
    row = await chat.compact(keep_recent=10)
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    await chat.refresh()
    middle = await sync_to_async(after_undo.older_half)(chat.conversation)
    less = await chat.compact(up_to=str(middle))
    assert less.status == "succeeded", less.error
    await chat.refresh()
    assert earlier < chat.conversation.compressed_at
    assert 0 < less.messages_condensed <= row.messages_condensed / 2


def test_the_page_offers_the_choices_and_leaves_it(user: User, conversation: Conversation, llm: Any) -> None:
    pages = Pages(user)
    fill(conversation, 18, words=62)
    pages.post("compact", conversation.pk)
    row = Compaction.objects.get()
    pages.post("undo", conversation.pk, row.pk)
    shown = pages.get("chat", conversation.pk).content.decode()
    for words in ("You undid a compaction.", "Leave it", "Compact less", "Another model", "Compact by itself again"):
        assert words in shown
    assert "Nothing is summarised by itself" in shown
    pages.post("later", conversation.pk)
    assert "You undid a compaction." not in pages.get("chat", conversation.pk).content.decode()
    Message.objects.filter(conversation=conversation).update(token_count=400)
    shown = pages.get("chat", conversation.pk).content.decode()
    assert "This chat no longer fits its model" in shown and "Leave it" not in shown
    answer = pages.post("resume", conversation.pk).content.decode()
    assert "no longer fits its model" not in answer
    assert Conversation.objects.get(pk=conversation.pk).undone_at is None


def test_another_person_cannot_choose(conversation: Conversation) -> None:
    other = Pages(User.objects.create_user("mallory"))
    assert other.post("resume", conversation.pk).status_code == 404
    assert other.post("compact", conversation.pk, less="1").status_code == 404


def test_the_api_tells_of_it(user: User, conversation: Conversation) -> None:
    api = Api(user)
    assert api.get(f"/api/conversations/{conversation.pk}/context").json()["undone_at"] is None
    Conversation.objects.update(undone_at=conversation.created_at)
    told = api.get(f"/api/conversations/{conversation.pk}/context").json()
    assert told["undone_at"] is not None and told["compacts_at"] is None


def test_less_without_an_undo_is_refused(user: User, conversation: Conversation) -> None:
    response = Pages(user).post("compact", conversation.pk, less="1")
    assert response.status_code == 409 and b"No compaction was undone here." in response.content
    assert not Compaction.objects.exists()
