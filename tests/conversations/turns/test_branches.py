from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.goal import Progress, Step
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction, snapshots
from conversations.errors import Conflict, Invalid, NotFound, TooLarge
from conversations.instructions import goals
from conversations.messages import replies
from conversations.messages.protection import protect
from conversations.models import Conversation, Goal, Message, ToolCall
from conversations.runtime.events import hub
from conversations.turns import branches
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def message(number: int) -> Message:
    return await Message.objects.aget(content__startswith=f"Message {number} ")


async def regenerated(chat: Chat, old: Message) -> Message:
    reply = await sync_to_async(branches.regenerate)(chat.conversation, old.pk)
    return await chat.ended(reply.pk)


async def edited(chat: Chat, old: Message, content: str) -> Message:
    """The new question, once it is answered."""
    begun = await sync_to_async(branches.edit)(chat.conversation, old.pk, content=content)
    await chat.ended(begun.reply.pk)
    return begun.question


async def grown(chat: Chat, name: str, count: int = 4) -> None:
    for number in range(count):
        await chat.say(f"{name} {number} " + "pad " * 120)


async def went_on(chat: Chat, *gone: Message) -> None:
    """A new message is answered from the whole history; what was replaced is not told to the model."""
    await chat.say("and what now?")
    await chat.check()
    for old in gone:
        assert old.content not in chat.llm.chats[-1].text


async def three_times_compressed(chat: Chat) -> list[datetime]:
    cuts = []
    for name in ("first", "second", "third"):
        row = await chat.compact()
        assert row.status == "succeeded", row.error
        cuts.append(chat.conversation.compressed_at)
        await grown(chat, name)
    return cuts


async def statuses() -> list[str]:
    return [row.status async for row in Compaction.objects.order_by("created_at")]


async def test_a_reply_is_written_anew_and_all_that_followed_leaves_the_history(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue("written anew")
    reply = await regenerated(chat, await message(7))
    assert reply.content == "written anew"
    sent = [row["content"] for row in chat.llm.last_request.messages[1:]]
    assert [text.split(" says")[0] for text in sent] == [f"Message {number}" for number in range(7)]
    gone = [row async for row in Message.objects.filter(replaced_by=reply).order_by("created_at")]
    assert [row.content.split()[1] for row in gone] == [str(number) for number in range(7, 20)]
    assert gone[-1].created_at < reply.created_at
    await went_on(chat, *gone)


async def test_a_question_is_asked_in_other_words_and_all_that_followed_leaves_the_history(
    filled: Conversation, chat: Chat
) -> None:
    old = await message(6)
    question = await edited(chat, old, "Which port, in one word?")
    assert chat.llm.last_request.messages[-1]["content"] == "Which port, in one word?"
    assert await Message.objects.filter(replaced_by=question).acount() == 14
    assert (await Message.objects.aget(pk=old.pk)).content == old.content
    await went_on(chat, old, await message(19))


async def test_the_last_reply_can_be_written_anew_again_and_again(filled: Conversation, chat: Chat) -> None:
    first = await chat.say("which port?")
    second = await regenerated(chat, first)
    third = await regenerated(chat, second)
    chain = [row.replaced_by_id async for row in Message.objects.filter(pk__in=[first.pk, second.pk, third.pk])]
    assert chain == [second.pk, third.pk, None]
    await went_on(chat)


async def test_a_failed_reply_can_be_written_anew(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue(status=401)
    failed = await chat.say("hello?")
    assert failed.status == "failed"
    assert (await regenerated(chat, failed)).status == "complete"
    assert chat.llm.last_request.messages[-1]["content"] == "hello?"


async def test_what_cannot_be_replaced_is_refused_and_nothing_is_changed(filled: Conversation, chat: Chat) -> None:
    rows = [row async for row in Message.objects.order_by("created_at").values()]
    third, fourth = await message(3), await message(4)
    regenerate, edit = sync_to_async(branches.regenerate), sync_to_async(branches.edit)
    with pytest.raises(Conflict) as refused:
        await regenerate(chat.conversation, fourth.pk)
    assert refused.value.code == "not_a_reply"
    with pytest.raises(Conflict):
        await edit(chat.conversation, third.pk, content="no")
    with pytest.raises(NotFound):
        await regenerate(chat.conversation, NOBODY)
    other = await Conversation.objects.acreate(owner_id=filled.owner_id, model_id=filled.model_id)
    with pytest.raises(NotFound):
        await edit(other, fourth.pk, content="not yours")
    with pytest.raises(Invalid, match="content"):
        await edit(chat.conversation, fourth.pk, content=" \n")
    with pytest.raises(TooLarge):
        await edit(chat.conversation, fourth.pk, content="word " * 4_000)
    assert [row async for row in Message.objects.order_by("created_at").values()] == rows
    assert not chat.llm.chats


async def test_a_reply_that_nothing_was_asked_for_is_not_written_anew(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 6)
    await Message.objects.filter(content__startswith="Message 0 ").adelete()
    with pytest.raises(Conflict) as refused:
        await regenerated(chat, await message(1))
    assert refused.value.code == "no_question"


async def test_nothing_is_replaced_while_a_reply_is_written(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue("word " * 20, drip=0.05)
    begun = await chat.send("tell me")
    for act in (
        sync_to_async(branches.regenerate)(chat.conversation, (await message(5)).pk),
        sync_to_async(branches.regenerate)(chat.conversation, begun.reply.pk),
        sync_to_async(branches.edit)(chat.conversation, begun.question.pk, content="no, tell me this"),
    ):
        with pytest.raises(Conflict) as refused:
            await act
        assert refused.value.code == "reply_running"
    await chat.ended(begun.reply.pk)
    assert not await Message.objects.exclude(replaced_by=None).aexists()


async def test_times_go_on_after_everything_there_is_whatever_the_clock_says(filled: Conversation, chat: Chat) -> None:
    last = await message(19)
    await Message.objects.filter(pk=last.pk).aupdate(created_at=last.created_at.replace(year=2100))
    question = await edited(chat, await message(2), "once more")
    assert question.created_at.year == 2100
    assert question.created_at > last.created_at
    await went_on(chat)


async def test_an_edit_after_the_cut_leaves_the_compression_as_it_is(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    context = chat.conversation.compressed_context
    old = await message(18)
    await edited(chat, old, "something else")
    assert chat.conversation.compressed_context == context
    assert await statuses() == ["succeeded"]
    assert not await Snapshot.objects.filter(purpose="recovery").aexists()
    await went_on(chat, old)


@pytest.mark.parametrize(("place", "back_to"), [(0, 0), (1, 1), (2, 2), (3, 3)])
async def test_an_edit_before_the_cut_goes_back_to_the_last_state_that_still_holds(
    filled: Conversation, chat: Chat, place: int, back_to: int
) -> None:
    cuts = [None, *await three_times_compressed(chat)]
    later = Message.objects.filter(role="user").order_by("created_at")
    old = await (later.filter(created_at__gt=cuts[place]) if cuts[place] else later).afirst()
    assert old is not None
    await edited(chat, old, "in other words")
    await chat.refresh()
    assert chat.conversation.compressed_at == cuts[back_to]
    assert chat.conversation.is_compressed == (back_to > 0)
    assert await statuses() == ["succeeded"] * back_to + ["undone"] * (3 - back_to)
    active = [row async for row in Checkpoint.objects.filter(active=True).order_by("number")]
    assert (active[-1].last_message_at if active else None) == cuts[back_to]
    assert await Snapshot.objects.filter(purpose="recovery").acount() == (0 if back_to == 3 else 1)
    await went_on(chat, old)
    await grown(chat, "later", 6)
    assert (await chat.compact()).status == "succeeded"
    await went_on(chat, old)


async def test_a_reply_before_the_cut_is_written_anew_from_the_last_state_that_still_holds(
    filled: Conversation, chat: Chat
) -> None:
    first, second, _ = await three_times_compressed(chat)
    old = await Message.objects.filter(role="assistant", created_at__lte=second).order_by("-created_at").afirst()
    assert old is not None and old.created_at > first
    chat.llm.enqueue("written anew")
    await regenerated(chat, old)
    await chat.refresh()
    assert chat.conversation.compressed_at == first
    await went_on(chat)
    assert "written anew" in chat.llm.last_request.text
    assert old.pk not in [row.pk async for row in Message.objects.filter(replaced_by=None)]


async def test_a_question_that_was_condensed_comes_back_when_its_reply_is_written_anew(
    filled: Conversation, chat: Chat
) -> None:
    tenth, eleventh = await message(10), await message(11)
    await chat.compact(up_to=str(tenth.pk))
    assert chat.conversation.compressed_at == tenth.created_at
    await regenerated(chat, eleventh)
    assert chat.llm.last_request.messages[-1]["content"] == tenth.content
    await went_on(chat, eleventh)


async def test_undo_does_not_bring_a_summary_of_replaced_messages_back(filled: Conversation, chat: Chat) -> None:
    await three_times_compressed(chat)
    manual = await sync_to_async(snapshots.take_snapshot)(chat.conversation)
    old = await message(4)
    await edited(chat, old, "in other words")
    before = await Conversation.objects.values().aget()
    rows = [row async for row in Message.objects.order_by("created_at").values()]
    stale = [row async for row in Snapshot.objects.exclude(compressed_at=None)]
    assert {row.purpose for row in stale} == {"rollback", "recovery", "manual"}
    assert manual.pk in {row.pk for row in stale}
    for snapshot in stale:
        with pytest.raises(Conflict, match="edited") as refused:
            await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=snapshot.pk)
        assert refused.value.code == "history_changed"
    for row in [row async for row in Compaction.objects.all()]:
        with pytest.raises(Conflict):
            await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    assert await Conversation.objects.values().aget() == before
    assert [row async for row in Message.objects.order_by("created_at").values()] == rows
    await went_on(chat, old)


async def test_a_compaction_that_runs_is_discarded(filled: Conversation, chat: Chat) -> None:
    for act in (regenerated, lambda chat, old: edited(chat, old, "again")):
        chat.llm.summary_takes(seconds=0.4)
        row = await chat.start_compaction()
        while len(chat.llm.summaries) < 1:
            await asyncio.sleep(0.01)
        last = (
            await Message.objects.filter(replaced_by=None, role="assistant" if act is regenerated else "user")
            .order_by("-created_at")
            .afirst()
        )
        await act(chat, last)
        assert (await chat.compacted(row.pk)).status == "discarded"
        assert not chat.conversation.is_compressed
        chat.llm.clear()
        await went_on(chat)


async def test_protection_follows_an_edit_and_what_was_replaced_is_kept_nowhere(
    filled: Conversation, chat: Chat
) -> None:
    second, third, fourth = await message(2), await message(3), await message(4)
    for row in (second, third, fourth):
        await sync_to_async(protect)(chat.conversation, row.pk, on=True)
    await chat.compact()
    assert chat.conversation.verbatim_ids == [str(row.pk) for row in (second, third, fourth)]
    await grown(chat, "more")
    await chat.compact()
    question = await edited(chat, fourth, "the pinned one, in other words")
    await chat.refresh()
    assert (question.is_protected, chat.conversation.verbatim_ids) == (True, [])
    await grown(chat, "later", 6)
    assert (await chat.compact()).status == "succeeded"
    assert str(question.pk) in chat.conversation.verbatim_ids
    await grown(chat, "latest")
    assert (await chat.compact()).status == "succeeded"
    await sync_to_async(compaction.rollback)(chat.conversation)
    await chat.refresh()
    assert set(chat.conversation.verbatim_ids) == {str(second.pk), str(third.pk), str(question.pk)}
    await went_on(chat, fourth)


async def test_results_that_were_left_out_of_replaced_messages_are_forgotten(filled: Conversation, chat: Chat) -> None:
    early, late = await message(3), await message(17)
    for row in (early, late):
        await ToolCall.objects.acreate(message=row, call_id="c", name="grep", result="x", created_at=row.created_at)
    await Conversation.objects.aupdate(elided={str(early.pk): 9, str(late.pk): 9})
    await edited(chat, await message(16), "without the tool")
    await chat.refresh()
    assert chat.conversation.elided == {str(early.pk): 9}


async def test_rules_in_an_edited_message_hold(filled: Conversation, chat: Chat) -> None:
    await edited(chat, await message(2), "Always answer in French. Which port?")
    await chat.refresh()
    assert any("French" in rule for rule in chat.conversation.rules)
    await chat.say("and now?")
    assert "French" in chat.llm.last_request.messages[0]["content"]


async def test_the_goal_is_as_far_as_the_state_that_is_gone_back_to(filled: Conversation, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    summary = "## Summary\nPorts.\n\n## State\n- Done: nothing\n\n[CHECKPOINT] {} - COMPLETED"
    for number, name in enumerate(("schema", "server", "page")):
        chat.llm.enqueue_summary(summary.format(name))
        assert (await chat.compact()).status == "succeeded"
        await grown(chat, f"part {number}")

    async def reached() -> list[str]:
        return [step["text"] for step in (await Goal.objects.aget()).checkpoints]

    assert await reached() == ["schema", "server", "page"]
    old = await Message.objects.aget(content__startswith="part 0 1 ")
    await edited(chat, old, "in other words")
    assert await reached() == ["schema"]
    await chat.refresh()
    assert "server" not in chat.conversation.goal_text
    assert "Done: schema" in chat.llm.last_request.messages[0]["content"]
    await edited(chat, await message(0), "from the start")
    assert await reached() == []


async def test_a_goals_progress_that_a_person_wrote_stays_where_nothing_is_undone(
    filled: Conversation, chat: Chat
) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    await sync_to_async(goals.set_progress)(chat.conversation, Progress((Step("by hand"),)))
    await edited(chat, await message(2), "in other words")
    assert [step["text"] for step in (await Goal.objects.aget()).checkpoints] == ["by hand"]


async def test_every_open_page_is_told_once_it_is_done(filled: Conversation, chat: Chat) -> None:
    with hub.listen(chat.conversation.pk) as listener:
        await regenerated(chat, await message(5))
        seen: list[Any] = [listener.queue.get_nowait().type for _ in range(listener.queue.qsize())]
    assert seen.index("resync") < seen.index("message.delta")


async def test_an_edited_question_that_does_not_fit_is_compressed_for(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 24)
    last = await message(22)
    await edited(chat, last, "a long story " + "word " * 1_500)
    assert await Compaction.objects.filter(trigger="auto", status="succeeded").aexists()
    await went_on(chat, last)


async def test_a_reply_whose_question_was_condensed_is_not_simply_tried_again(filled: Conversation, chat: Chat) -> None:
    asked = await message(18)
    await Message.objects.filter(content__startswith="Message 19 ").aupdate(status="stopped")
    await chat.compact(up_to=str(asked.pk))
    assert chat.conversation.compressed_at == asked.created_at
    with pytest.raises(Conflict, match="summary"):
        await sync_to_async(replies.retry)(chat.conversation, (await message(19)).pk)
    await regenerated(chat, await message(19))
    assert chat.llm.last_request.messages[-1]["content"] == asked.content
    await went_on(chat)


async def test_a_state_that_is_cut_at_the_edited_message_itself_is_not_gone_back_to(
    filled: Conversation, chat: Chat
) -> None:
    eighth = await message(8)
    await chat.compact(up_to=str(eighth.pk))
    assert (await chat.compact()).status == "succeeded"
    await edited(chat, eighth, "in other words")
    await chat.refresh()
    assert not chat.conversation.is_compressed
    await went_on(chat, eighth)


async def test_a_state_of_another_history_is_not_gone_back_to(filled: Conversation, chat: Chat) -> None:
    await three_times_compressed(chat)
    second = await message(2)
    await Message.objects.filter(pk=second.pk).aupdate(replaced_by=second)
    await edited(chat, await Message.objects.aget(content__startswith="first 1 "), "in other words")
    await chat.refresh()
    assert not chat.conversation.is_compressed
    await went_on(chat, second)
