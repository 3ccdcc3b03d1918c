from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.goal import Progress, Step
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction, snapshots
from conversations.errors import Conflict, NotFound
from conversations.instructions import goals
from conversations.memory import message_index
from conversations.messages.protection import protect
from conversations.models import Conversation, Goal, Message, ToolCall
from conversations.requests import next_request
from conversations.turns import forks
from tests.conversations.chat import Chat, fill
from tests.timing import cpu_seconds

NOBODY = "00000000-0000-7000-8000-000000000000"
OWN = (Message, Compaction, Checkpoint, Snapshot)


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def message(number: int) -> Message:
    return await Message.objects.order_by("created_at", "pk").filter(content__startswith=f"Message {number} ").afirst()


async def forked(chat: Chat, last: Message) -> Chat:
    copy = await sync_to_async(forks.fork)(chat.conversation, last.pk)
    chat.llm.clear()
    return replace(chat, conversation=copy)


async def grown(chat: Chat, name: str, count: int = 4) -> None:
    for number in range(count):
        await chat.say(f"{name} {number} " + "pad " * 120)


async def twice_compressed(chat: Chat) -> None:
    await chat.compact()
    await grown(chat, "first")
    await chat.compact()
    await grown(chat, "second")
    assert [row.status async for row in Compaction.objects.all()] == ["succeeded", "succeeded"]


def rows_of(conversation: Conversation) -> list[dict[str, Any]]:
    """Everything of a conversation, as it is stored."""
    rows = [row for model in OWN for row in model.objects.filter(conversation=conversation).order_by("pk").values()]
    rows += ToolCall.objects.filter(message__conversation=conversation).values()
    rows += Goal.objects.filter(conversation=conversation).values()
    return [*rows, Conversation.objects.values().get(pk=conversation.pk)]


def ids_of(conversation: Conversation) -> set[str]:
    found = {str(row["id"]) for row in rows_of(conversation) if not isinstance(row["id"], int)}
    return found | {str(row["lease_token"]) for row in rows_of(conversation) if row.get("lease_token")}


def said(conversation: Conversation) -> list[tuple[Any, ...]]:
    rows = Message.objects.filter(conversation=conversation, replaced_by=None).order_by("created_at")
    return list(rows.values_list("role", "content", "created_at", "token_count", "is_protected", "status"))


def state(conversation: Conversation) -> dict[str, Any]:
    """The state of compression, with messages told by their dates and checkpoints by their numbers."""
    row = Conversation.objects.get(pk=conversation.pk)
    active = Checkpoint.objects.filter(conversation=row, active=True).order_by("number")
    dates = Message.objects.filter(conversation=row).in_bulk()
    return {
        "context": (row.compressed_context, row.compressed_tokens, row.compressed_at),
        "verbatim": [str(dates[key].created_at) for key in dates if str(key) in row.verbatim_ids],
        "active": list(active.values_list("number", "summary", "digest", "last_message_at", "age")),
        "statuses": list(Compaction.objects.filter(conversation=row).order_by("created_at").values_list("status")),
        "goal": list(Goal.objects.filter(conversation=row).values_list("description", "checkpoints", "status")),
        "text": row.goal_text,
    }


async def test_a_fork_says_what_the_original_said_up_to_a_message(filled: Conversation, chat: Chat) -> None:
    tenth = await message(9)
    call = {"call_id": "c1", "name": "grep", "arguments": "{}", "result": "found", "token_count": 7}
    await ToolCall.objects.acreate(message=tenth, created_at=tenth.created_at, **call)
    await Message.objects.filter(pk=tenth.pk).aupdate(prompt_tokens=100, completion_tokens=5, client_id="one")
    await Conversation.objects.aupdate(
        title="Ports", mode="developer", system_prompt="Be exact.", policy={"keep_recent": 2}, rules=["Never guess."]
    )
    before = await sync_to_async(rows_of)(filled)
    copy = await forked(chat, tenth)
    assert await sync_to_async(rows_of)(filled) == before
    assert await sync_to_async(said)(copy.conversation) == (await sync_to_async(said)(filled))[:10]
    original = await Conversation.objects.aget(pk=filled.pk)
    for name in forks.COPIED:
        assert getattr(copy.conversation, name) == ({"title": "Ports (fork)"}.get(name) or getattr(original, name))
    assert call.items() <= (await ToolCall.objects.values().aget(message__conversation=copy.conversation)).items()
    copied = await copy.conversation.messages.aget(content=tenth.content)
    assert (copied.prompt_tokens, copied.completion_tokens, copied.client_id) == (100, 5, None)
    await copy.say("and here?")
    await copy.check()


async def test_replaced_and_failed_messages_are_left_behind(filled: Conversation, chat: Chat) -> None:
    last = await message(19)
    await Message.objects.filter(content__startswith="Message 3 ").aupdate(replaced_by=last)
    await Message.objects.filter(content__startswith="Message 5 ").aupdate(status="failed")
    copy = await forked(chat, last)
    assert await copy.conversation.messages.acount() == 18


async def test_a_fork_at_the_end_is_compressed_as_the_original_and_shares_nothing(
    filled: Conversation, chat: Chat
) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    await sync_to_async(protect)(chat.conversation, (await message(3)).pk, on=True)
    await twice_compressed(chat)
    last = await Message.objects.order_by("created_at").alast()
    before = await sync_to_async(rows_of)(filled)
    copy = await forked(chat, last)
    assert await sync_to_async(rows_of)(filled) == before
    assert await sync_to_async(state)(copy.conversation) == await sync_to_async(state)(filled)
    assert len(copy.conversation.verbatim_ids) == 1
    stored = str(await sync_to_async(rows_of)(copy.conversation))
    assert not [id for id in await sync_to_async(ids_of)(filled) if id in stored]
    spent = Compaction.objects.filter(conversation=copy.conversation, prompt_tokens=0, completion_tokens=0)
    assert await spent.exclude(cost_usd__gt=0).acount() == 2
    await sync_to_async(message_index.catch_up)(copy.conversation.pk)  # a page that is looked at indexes nothing
    look = [row["content"] for row in (await sync_to_async(next_request.preview)(copy.conversation)).messages]
    assert look == [row["content"] for row in (await sync_to_async(next_request.preview)(filled)).messages]
    await copy.say("and here?")
    await copy.check()


async def test_a_fork_can_be_undone_step_by_step_as_the_original(filled: Conversation, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    mark = "## Summary\nPorts.\n\n## State\n- Done: nothing\n\n[CHECKPOINT] {} - COMPLETED"
    for name in ("schema", "server"):
        chat.llm.enqueue_summary(mark.format(name))
    await sync_to_async(protect)(chat.conversation, (await message(3)).pk, on=True)
    await twice_compressed(chat)
    copy = await forked(chat, await Message.objects.order_by("created_at").alast())
    for steps in range(2):
        for conversation in (filled, copy.conversation):
            await sync_to_async(compaction.rollback)(conversation)
        undone = await sync_to_async(state)(copy.conversation)
        assert undone == await sync_to_async(state)(filled)
        assert len(undone["active"]) == 1 - steps
        assert [step["text"] for step in undone["goal"][0][1]] == ["schema"][steps:]
    recovery = await Snapshot.objects.filter(conversation=copy.conversation, purpose="recovery").alast()
    await sync_to_async(compaction.rollback)(copy.conversation, snapshot_id=recovery.pk)
    assert (await Conversation.objects.aget(pk=copy.conversation.pk)).is_compressed
    await copy.say("and here?")
    await copy.check()


async def test_a_fork_in_the_compressed_past_goes_on_from_the_state_that_held_there(
    filled: Conversation, chat: Chat
) -> None:
    await chat.compact()
    after_first = await sync_to_async(state)(filled)
    await grown(chat, "first")
    await chat.compact()
    copy = await forked(chat, await Message.objects.aget(content__startswith="first 1 "))
    assert await sync_to_async(state)(copy.conversation) == after_first
    assert await Snapshot.objects.filter(conversation=copy.conversation).acount() == 1
    await copy.say("and here?")
    await copy.check()
    assert "first 2 " not in chat.llm.last_request.text
    await grown(copy, "later")
    summaries = len(chat.llm.summaries)
    row = await copy.compact()
    assert (row.status, row.conversation_id) == ("succeeded", copy.conversation.pk)
    assert len(chat.llm.summaries) > summaries
    await copy.say("and now?")
    await copy.check()


async def test_a_fork_before_the_first_cut_is_not_compressed(filled: Conversation, chat: Chat) -> None:
    await twice_compressed(chat)
    copy = await forked(chat, await message(8))
    assert not copy.conversation.is_compressed
    assert not await Compaction.objects.filter(conversation=copy.conversation).aexists()
    await copy.say("and here?")
    await copy.check()


async def test_a_fork_at_the_very_cut_is_compressed_whole(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    copy = await forked(chat, await Message.objects.aget(created_at=chat.conversation.compressed_at))
    assert copy.conversation.compressed_at == chat.conversation.compressed_at
    await copy.say("and here?")
    await copy.check()


async def test_what_was_protected_since_is_sent_word_for_word_in_the_fork(filled: Conversation, chat: Chat) -> None:
    await twice_compressed(chat)
    third = await message(3)
    await sync_to_async(protect)(chat.conversation, third.pk, on=True)
    copy = await forked(chat, await Message.objects.aget(content__startswith="first 1 "))
    assert len(copy.conversation.verbatim_ids) == 1
    await copy.say("what did I pin?")
    assert third.content in [row["content"] for row in chat.llm.last_request.messages]
    await copy.check()


async def test_results_that_were_left_out_and_what_is_said_of_them_follow(filled: Conversation, chat: Chat) -> None:
    early, late = await message(3), await message(17)
    steps = [{"summariser": "", "action": "left out", "message_ids": [str(early.pk), str(late.pk)]}]
    await Compaction.objects.acreate(
        conversation=filled, trigger="emergency", status="succeeded", steps=steps, steering={"up_to": str(early.pk)}
    )
    await Conversation.objects.aupdate(elided={str(early.pk): 9, str(late.pk): 9})
    copy = await forked(chat, await message(9))
    third = await Message.objects.aget(conversation=copy.conversation, content=early.content)
    assert copy.conversation.elided == {str(third.pk): 9}
    row = await Compaction.objects.aget(conversation=copy.conversation)
    assert (row.steps[0]["message_ids"], row.steering["up_to"]) == ([str(third.pk)], str(third.pk))


async def test_the_goal_is_as_far_as_the_forked_state(filled: Conversation, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it", priority="high")
    chat.llm.enqueue_summary("## Summary\nPorts.\n\n## State\n- Done: it\n\n[CHECKPOINT] schema - COMPLETED")
    await chat.compact()
    early, late = [await forked(chat, await message(number)) for number in (4, 18)]
    assert "Done: schema" not in early.conversation.goal_text
    assert "Done: schema" in late.conversation.goal_text
    assert (await Goal.objects.aget(conversation=late.conversation)).priority == "high"
    await sync_to_async(goals.end_goal)(chat.conversation, status="completed")
    assert (await forked(chat, await message(18))).conversation.goal_text == ""


async def test_what_cannot_be_forked_from_is_refused(filled: Conversation, chat: Chat) -> None:
    fork = sync_to_async(forks.fork)
    chat.llm.enqueue(status=401)
    failed = await chat.say("hello?")
    with pytest.raises(Conflict) as refused:
        await fork(chat.conversation, failed.pk)
    assert refused.value.code == "not_in_history"
    chat.llm.enqueue("word " * 20, drip=0.05)
    begun = await chat.send("tell me")
    with pytest.raises(Conflict) as refused:
        await fork(chat.conversation, begun.reply.pk)
    assert refused.value.code == "reply_running"
    assert (await fork(chat.conversation, begun.question.pk)).pk != filled.pk
    await chat.ended(begun.reply.pk)
    other = await Conversation.objects.acreate(owner_id=filled.owner_id)
    for conversation, id in ((chat.conversation, NOBODY), (other, begun.question.pk)):
        with pytest.raises(NotFound):
            await fork(conversation, id)
    assert await Conversation.objects.acount() == 3


@pytest.mark.long
def test_a_fork_takes_no_longer_than_its_conversation_is_long(conversation: Conversation) -> None:
    fill(conversation, 4_000, words=5)
    ids = list(Message.objects.order_by("created_at").values_list("pk", flat=True))

    def forked(length: int) -> float:
        copies: list[Conversation] = []
        took = cpu_seconds(lambda: copies.append(forks.fork(conversation, ids[length - 1])))
        assert said(copies[0]) == said(conversation)[:length]
        return took

    forked(10)  # the first one loads what later ones have
    short, long = (min(forked(length) for _ in range(2)) for length in (1_000, 4_000))
    assert long < 10 * short, (short, long)  # a linear one takes 4 times as long, a quadratic one 16 times


async def test_a_fresh_conversation_starts_from_the_summary(filled: Conversation, chat: Chat) -> None:
    with pytest.raises(Conflict) as refused:
        await sync_to_async(forks.fresh)(chat.conversation)
    assert refused.value.code == "nothing_to_start_from"
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    await sync_to_async(goals.set_progress)(chat.conversation, Progress((Step("half of it"),)))
    await Conversation.objects.aupdate(title="t" * 200, rules=["Never guess."], mode="developer")
    await twice_compressed(chat)
    copy = await sync_to_async(forks.fresh)(chat.conversation)
    first = await copy.messages.aget()
    active = [row async for row in Checkpoint.objects.filter(conversation=filled, active=True).order_by("number")]
    assert len(active) == 2
    assert first.content == "\n\n".join([forks.OPENING, *(row.summary for row in active)])
    assert "[Compressed Message Summary]" not in first.content
    assert (copy.title, copy.rules, copy.mode) == ("t" * 188 + " (continued)", ["Never guess."], "developer")
    assert "half of it" in copy.goal_text
    assert not copy.is_compressed
    chat.llm.clear()
    here = replace(chat, conversation=copy)
    await here.say("and what now?")
    await here.check()
    assert first.content in chat.llm.last_request.text


async def test_a_fork_of_an_edited_conversation_keeps_to_what_still_holds(filled: Conversation, chat: Chat) -> None:
    await twice_compressed(chat)
    await sync_to_async(snapshots.clear)(chat.conversation)
    copy = await forked(chat, await Message.objects.order_by("created_at").alast())
    assert not copy.conversation.is_compressed
    assert not await Snapshot.objects.filter(conversation=copy.conversation).aexists()
    assert not await Checkpoint.objects.filter(conversation=copy.conversation).aexists()
    await copy.say("and here?")
    await copy.check()
