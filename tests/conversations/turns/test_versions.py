"""What was said before in the place of a message: found, read, and gone on from."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from conversations.compaction import snapshots
from conversations.errors import Conflict, NotFound
from conversations.messages import attachments, replies
from conversations.messages.protection import protect
from conversations.models import Attachment, Conversation, Message, ModelProfile, Paste, ToolCall
from conversations.turns import begin, branches, forks, versions
from tests.conversations.chat import Chat, fill


async def regenerated(chat: Chat, old: Message, words: str) -> Message:
    chat.llm.enqueue(words)
    reply = await sync_to_async(branches.regenerate)(chat.conversation, old.pk)
    return await chat.ended(reply.pk)


async def edited(chat: Chat, old: Message, content: str, words: str) -> Message:
    """The new question, once it is answered."""
    chat.llm.enqueue(words)
    begun = await sync_to_async(branches.edit)(chat.conversation, old.pk, content=content)
    await chat.ended(begun.reply.pk)
    return await Message.objects.aget(pk=begun.question.pk)


async def last(role: str = "assistant") -> Message:
    return await Message.objects.filter(replaced_by=None, role=role).alatest("created_at")


async def used(chat: Chat, current: Message, number: int) -> Message:
    return await sync_to_async(versions.use)(chat.conversation, current.pk, number=number)


async def told(current: Message) -> list[tuple[int, list[str]]]:
    """Every version of a message with its words, as a person flips through them."""

    def all_of() -> list[tuple[int, list[str]]]:
        numbers = versions.numbers(current)
        found = [versions.version(current, number) for number in numbers]
        return [(one.number, [row.content for row in one.messages]) for one in found]

    return await sync_to_async(all_of)()


async def said(chat: Chat) -> list[str]:
    rows = Message.objects.filter(conversation=chat.conversation, replaced_by=None).order_by("created_at")
    return [row.content async for row in rows]


async def went_on(chat: Chat, *gone: str) -> None:
    await chat.say("and what now?")
    await chat.check()
    for words in gone:
        assert words not in chat.llm.chats[-1].text


async def test_every_reply_that_stood_there_is_found_in_order_of_time(chat: Chat) -> None:
    chat.llm.enqueue("first answer")
    reply = await chat.say("which port?")
    for words in ("second answer", "third answer", "fourth answer"):
        reply = await regenerated(chat, reply, words)
    assert (reply.version, reply.versions) == (4, 4)
    assert await told(reply) == [
        (1, ["first answer"]),
        (2, ["second answer"]),
        (3, ["third answer"]),
        (4, ["fourth answer"]),
    ]


async def test_an_earlier_question_comes_with_the_reply_that_it_had(chat: Chat) -> None:
    chat.llm.enqueue("first answer")
    first = await chat.say("which port?")
    await regenerated(chat, first, "second answer")
    await chat.say("and then?")
    question = await edited(chat, await Message.objects.aget(content="which port?"), "in one word?", "8443")
    assert await told(question) == [(1, ["which port?", "second answer"]), (2, ["in one word?", "8443"])]
    found = await sync_to_async(versions.version)(question, 1)
    assert found.more == 2


async def test_a_conversation_goes_on_from_an_earlier_reply(chat: Chat) -> None:
    chat.llm.enqueue("first answer")
    first = await chat.say("which port?")
    second = await regenerated(chat, first, "second answer")
    again = await used(chat, second, 1)
    assert await said(chat) == ["which port?", "first answer"]
    assert (again.version, again.versions, again.model) == (1, 2, "scripted")
    assert len(chat.llm.chats) == 2, "no model is asked"
    assert await told(again) == [(1, ["first answer"]), (2, ["second answer"])]
    rows = [row.content async for row in Message.objects.order_by("created_at")]
    assert rows == ["which port?", "first answer", "second answer", "first answer"]
    await went_on(chat, "second answer")


async def test_all_that_followed_a_version_comes_back_with_it_and_all_that_was_passed_stays_reachable(
    chat: Chat,
) -> None:
    chat.llm.enqueue("one")
    first = await chat.say("which port?")
    await regenerated(chat, first, "two")
    chat.llm.enqueue("three")
    await chat.say("and the host?")
    asked = await edited(chat, await Message.objects.aget(content="which port?"), "which name?", "four")
    back = await used(chat, asked, 1)
    assert await said(chat) == ["which port?", "two", "and the host?", "three"]
    reply = await Message.objects.aget(content="two", replaced_by=None)
    assert await told(reply) == [(1, ["one"]), (2, ["two"])]
    again = await used(chat, back, 2)
    assert await said(chat) == ["which name?", "four"]
    assert await told(again) == [(1, ["which port?", "two"]), (2, ["which name?", "four"])]
    await went_on(chat, "which port?", "and the host?")
    final = await sync_to_async(versions.version)(again, 2)
    assert (final.is_current, final.more) == (True, 2)


async def test_a_reply_that_failed_is_no_version_and_one_that_was_stopped_half_way_is(chat: Chat) -> None:
    chat.llm.enqueue("first answer")
    first = await chat.say("which port?")
    chat.llm.enqueue(status=401)
    failed = await chat.ended((await sync_to_async(branches.regenerate)(chat.conversation, first.pk)).pk)
    assert (failed.status, failed.version, failed.versions) == ("failed", 2, 2)
    again = await used(chat, failed, 1)
    assert (again.content, again.version, again.versions) == ("first answer", 1, 1)
    assert list(await sync_to_async(versions.numbers)(again)) == [1]
    second = await regenerated(chat, again, "second answer")
    await Message.objects.filter(pk=second.pk).aupdate(status="stopped")
    retried = await sync_to_async(replies.retry)(chat.conversation, second.pk)
    third = await chat.ended(retried.pk)
    assert [number for number, _ in await told(third)] == [1, 2, 3]


async def test_tool_calls_files_pastes_and_protection_come_with_the_copies(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 4)
    await ModelProfile.objects.aupdate(sees_images=True)
    rows = [row async for row in Message.objects.order_by("created_at")]
    await ToolCall.objects.acreate(
        message=rows[3], call_id="c1", name="search", arguments="{}", result="8443", created_at=rows[3].created_at
    )
    await Paste.objects.acreate(message=rows[2], number=1, start=0, length=7)
    picture = await Attachment.objects.acreate(
        owner_id=conversation.owner_id, conversation=conversation, message=rows[2], kind="image", name="cat.png",
        media_type="image/png", size=3, width=1, height=1, digest="d" * 64, tokens=85, data=b"cat",
    )  # fmt: skip
    images = attachments.noted([picture])
    await Message.objects.filter(pk=rows[2].pk).aupdate(images=images)
    await sync_to_async(protect)(conversation, rows[3].pk, on=True)
    asked = await edited(chat, rows[2], "in other words?", "yes")
    await sync_to_async(protect)(conversation, asked.pk, on=True)
    again = await used(chat, asked, 1)
    assert again.is_protected, "the place was protected"
    reply = await last()
    assert (reply.content, reply.is_protected) == (rows[3].content, True)
    assert (await reply.tool_calls.aget()).result == "8443"
    assert (await again.pastes.aget()).length == 7
    copy = await again.attachments.defer(None).aget()
    assert (bytes(copy.data), copy.name, again.images) == (b"cat", "cat.png", attachments.noted([copy]))
    assert copy.pk != picture.pk
    assert await ToolCall.objects.acount() == await Paste.objects.acount() == 2
    await went_on(chat, "in other words?")


async def test_compression_goes_back_and_is_exact_afterwards(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 20)
    rows = [row async for row in Message.objects.order_by("created_at")]
    reply = await regenerated(chat, rows[19], "another answer")
    for number in range(4):
        await chat.say(f"more {number} " + "pad " * 120)
    assert (await chat.compact(keep_recent=0)).status == "succeeded"
    assert chat.conversation.compressed_at > reply.created_at
    again = await used(chat, reply, 1)
    assert again.content == rows[19].content
    assert chat.conversation.compressed_at is None
    await went_on(chat, "another answer", "more 3")
    before = [row async for row in Message.objects.filter(replaced_by=None).order_by("created_at").values()]
    row = await chat.compact()
    assert row.status == "succeeded"
    await went_on(chat, "another answer")
    await sync_to_async(snapshots.undo)(chat.conversation, row.pk)
    assert chat.conversation.compressed_at is None
    ids = [row["id"] for row in before]
    assert [row async for row in Message.objects.filter(pk__in=ids).order_by("created_at").values()] == before
    await went_on(chat, "another answer")


async def test_a_summary_from_before_the_place_stays_in_force(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 20)
    reply = await chat.say("which port?")
    reply = await regenerated(chat, reply, "another answer")
    assert (await chat.compact()).status == "succeeded"
    cut = chat.conversation.compressed_at
    await used(chat, reply, 1)
    assert chat.conversation.compressed_at == cut
    await went_on(chat, "another answer")


async def test_rules_come_and_go_with_their_version(chat: Chat) -> None:
    await chat.say("Never use port 8080, please.")
    question = await last("user")
    asked = await edited(chat, question, "Which port?", "8443")
    await chat.refresh()
    assert chat.conversation.rules == []
    await used(chat, asked, 1)
    assert len(chat.conversation.rules) == 1 and "8080" in chat.conversation.rules[0]


async def test_what_a_file_says_is_no_rule_when_its_message_comes_back(chat: Chat) -> None:
    file = await sync_to_async(attachments.upload)(chat.conversation, name="style.md", data=b"Never use emojis.")
    chat.llm.enqueue("a")
    begun = await sync_to_async(begin.begin)(chat.conversation, content="Review this.", attachments=[file.pk])
    await chat.ended(begun.reply.pk)
    question = await edited(chat, begun.question, "Review this again.", "b")
    await used(chat, question, 1)
    assert (await Conversation.objects.aget(pk=chat.conversation.pk)).rules == []


async def test_what_cannot_be_used_is_refused_and_nothing_is_changed(chat: Chat) -> None:
    first = await chat.say("which port?")
    second = await regenerated(chat, first, "second answer")
    rows = [row async for row in Message.objects.order_by("created_at").values()]
    for current, number, error in ((second, 2, Conflict), (second, 3, NotFound), (first, 1, NotFound)):
        with pytest.raises(error):
            await used(chat, current, number)
    await Message.objects.filter(pk=second.pk).aupdate(status="streaming")
    with pytest.raises(Conflict) as refused:
        await used(chat, second, 1)
    assert refused.value.code == "reply_running"
    await Message.objects.filter(pk=second.pk).aupdate(status="complete")
    assert [row async for row in Message.objects.order_by("created_at").values()] == rows


async def test_a_fork_begins_without_versions(chat: Chat) -> None:
    reply = await regenerated(chat, await chat.say("which port?"), "second answer")
    copy = await sync_to_async(forks.fork)(chat.conversation, reply.pk)
    async for row in copy.messages.all():
        assert (row.place, row.version, row.versions) == (None, None, None)
