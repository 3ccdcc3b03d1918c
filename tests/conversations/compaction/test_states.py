from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from compression.core.digest import extend_digest
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction, snapshots
from conversations.context import transcript
from conversations.errors import Conflict, Refused
from conversations.instructions import goals
from conversations.messages.protection import protect
from conversations.models import Conversation, Goal, Message, ModelProfile
from conversations.turns import branches, forks, versions
from tests.conversations.chat import Chat, fill

MARK = "## Summary\nPorts.\n\n## State\n- Done: nothing\n\n[CHECKPOINT] {} - COMPLETED"


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def message(number: int) -> Message:
    return await Message.objects.aget(content__startswith=f"Message {number} ")


def everything(conversation: Conversation) -> dict[str, Any]:
    """All that a state consists of, wherever it is stored."""
    row = Conversation.objects.get(pk=conversation.pk)
    return {name: getattr(row, name) for name in snapshots.LIVE} | {
        "active": set(Checkpoint.objects.filter(conversation=row, active=True).values_list("pk", flat=True)),
        "compactions": dict(Compaction.objects.filter(conversation=row).values_list("pk", "status")),
        "goal": list(Goal.objects.values_list("checkpoints", "decisions", "artifacts")),
        "text": row.goal_text,
    }


seen: Callable[..., Any] = sync_to_async(everything)


async def compressed(chat: Chat, times: int) -> list[dict[str, Any]]:
    """The states that were passed, each with a goal further on, one protected message and a result left out."""
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    await sync_to_async(protect)(chat.conversation, (await message(3)).pk, on=True)
    passed = [await seen(chat.conversation)]
    for number in range(times):
        chat.llm.enqueue_summary(MARK.format(f"step {number}"))
        row = await chat.compact()
        assert row.status == "succeeded", row.error
        passed.append(await seen(chat.conversation))
        for more in range(4):
            await chat.say(f"more {number} {more} " + "pad " * 120)
    await Conversation.objects.aupdate(elided={str((await message(3)).pk): 7})
    passed[-1] = await seen(chat.conversation)
    return passed


def but_for_undone(state: dict[str, Any], ids: set[Any]) -> dict[str, Any]:
    """The same, with the compactions that it did not know of undone."""
    return state | {"compactions": state["compactions"] | dict.fromkeys(ids - set(state["compactions"]), "undone")}


async def test_restoring_goes_forward_as_well_as_back_and_exactly(filled: Conversation, chat: Chat) -> None:
    passed = await compressed(chat, 3)
    manual = await sync_to_async(snapshots.take_snapshot)(chat.conversation)
    known = set(passed[-1]["compactions"])
    for back in (2, 1, 0):
        await sync_to_async(compaction.rollback)(chat.conversation)
        now = await seen(chat.conversation)
        assert now == but_for_undone(passed[back], known) | {"elided": {}}
    recoveries = [row async for row in Snapshot.objects.filter(purpose="recovery").order_by("created_at")]
    for snapshot, forward in zip(recoveries, (3, 2, 1), strict=True):
        await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=snapshot.pk)
        elided = passed[3]["elided"] if forward == 3 else {}
        assert await seen(chat.conversation) == but_for_undone(passed[forward], known) | {"elided": elided}
        await chat.say(f"at {forward}?")
        await chat.check()
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=manual.pk)
    assert await seen(chat.conversation) == passed[3]
    await chat.say("all there?")
    await chat.check()


async def test_the_oldest_recovery_snapshot_that_is_kept_is_restored_exactly_too(
    filled: Conversation, chat: Chat
) -> None:
    passed = await compressed(chat, 2)
    manual = await sync_to_async(snapshots.take_snapshot)(chat.conversation)
    await sync_to_async(snapshots.clear)(chat.conversation)
    oldest = await Snapshot.objects.aget(purpose="recovery")
    for _ in range(2):
        await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=manual.pk)
        await sync_to_async(snapshots.clear)(chat.conversation)
    assert await Snapshot.objects.filter(purpose="recovery").acount() == 5
    await Snapshot.objects.filter(pk=manual.pk).adelete()
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=oldest.pk)
    assert await seen(chat.conversation) == passed[2]
    assert await Snapshot.objects.filter(purpose="recovery").acount() == 5
    assert not await Snapshot.objects.filter(pk=oldest.pk).aexists()


async def test_clearing_sends_every_message_as_it_is_and_can_be_taken_back(filled: Conversation, chat: Chat) -> None:
    passed = await compressed(chat, 2)
    version = (await Conversation.objects.aget()).compression_version
    await sync_to_async(snapshots.clear)(chat.conversation)
    assert not chat.conversation.is_compressed
    assert chat.conversation.compression_version > version
    cleared = await seen(chat.conversation)
    assert cleared == but_for_undone(passed[0], set(passed[2]["compactions"]))
    recovery = await Snapshot.objects.aget(purpose="recovery")
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=recovery.pk)
    assert await seen(chat.conversation) == passed[2]
    await chat.say("all there?")
    await chat.check()


async def test_clearing_what_was_never_compressed_changes_nothing(filled: Conversation, chat: Chat) -> None:
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")
    before = await seen(chat.conversation)
    await sync_to_async(snapshots.clear)(chat.conversation)
    assert await seen(chat.conversation) == before


async def test_a_compaction_of_an_emergency_can_be_undone(filled: Conversation, chat: Chat) -> None:
    passed = await compressed(chat, 2)
    last = await Compaction.objects.order_by("created_at").alast()
    assert last is not None
    await Snapshot.objects.filter(compaction=last).aupdate(purpose="emergency")
    await sync_to_async(compaction.undo)(chat.conversation, last.pk)
    known = set(passed[2]["compactions"])
    assert await seen(chat.conversation) == but_for_undone(passed[1], known)
    await sync_to_async(compaction.rollback)(chat.conversation)
    assert await seen(chat.conversation) == but_for_undone(passed[0], known)


async def test_a_snapshot_of_another_history_is_refused(filled: Conversation, chat: Chat) -> None:
    await compressed(chat, 2)
    before = await seen(chat.conversation)
    early = await message(5)
    await Message.objects.filter(pk=early.pk).aupdate(replaced_by=early)
    with pytest.raises(Conflict) as refused:
        await sync_to_async(compaction.rollback)(chat.conversation)
    assert refused.value.code == "history_changed"
    assert await seen(chat.conversation) == before
    assert not await Snapshot.objects.filter(purpose="recovery").aexists()
    first = await Snapshot.objects.aget(compressed_at=None)
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=first.pk)
    assert not (await Conversation.objects.aget()).is_compressed


async def test_a_summary_that_was_written_again_later_does_not_hide_what_a_snapshot_covers(
    filled: Conversation, chat: Chat
) -> None:
    await compressed(chat, 2)
    first = await Checkpoint.objects.filter(active=True).order_by("number").afirst()
    assert first is not None
    await Checkpoint.objects.filter(pk=first.pk).aupdate(number=99)
    manual = await sync_to_async(snapshots.take_snapshot)(chat.conversation)
    await sync_to_async(snapshots.clear)(chat.conversation)
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=manual.pk)
    assert (await Conversation.objects.aget()).is_compressed


def fits(conversation: Conversation) -> None:
    """The state of compression is of the history as it is now, and of nothing else."""
    row = Conversation.objects.get(pk=conversation.pk)
    active = Checkpoint.objects.filter(conversation=row, active=True).order_by("last_message_at", "number")
    last = active.last()
    if last is None:
        assert (row.compressed_at, row.compressed_context, row.verbatim_ids) == (None, None, [])
        return
    assert row.compressed_at == last.last_message_at
    history = transcript.between(row.pk, None, last.last_message_at)
    assert extend_digest("", history) == last.digest
    assert set(row.verbatim_ids) <= {turn.id for turn in history}
    assert set(active.values_list("compaction__status", flat=True)) == {"succeeded"}


async def done(chat: Chat, act: str, chosen: Message, random: Random) -> Chat:
    """The conversation in which it goes on. Raises Refused."""
    match act:
        case "compact":
            await chat.compact("ahead")
        case "edit":
            begun = await sync_to_async(branches.edit)(chat.conversation, chosen.pk, content="edited " + "pad " * 90)
            await chat.ended(begun.reply.pk)
        case "regenerate":
            reply = await sync_to_async(branches.regenerate)(chat.conversation, chosen.pk)
            await chat.ended(reply.pk)
        case "restore":
            kept = [row async for row in Snapshot.objects.filter(conversation=chat.conversation)]
            if kept:
                await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=random.choice(kept).pk)
        case "undo":
            await sync_to_async(compaction.rollback)(chat.conversation)
        case "clear":
            await sync_to_async(snapshots.clear)(chat.conversation)
        case "protect":
            await sync_to_async(protect)(chat.conversation, chosen.pk, on=random.random() < 0.5)
        case "use":
            rows = Message.objects.filter(conversation=chat.conversation, replaced_by=None, versions__gt=1)
            if placed := [row async for row in rows]:
                current, number = random.choice(placed), random.randint(1, 3)
                await sync_to_async(versions.use)(chat.conversation, current.pk, number=number)
        case "fork":
            return replace(chat, conversation=await sync_to_async(forks.fork)(chat.conversation, chosen.pk))
    return chat


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))])
async def test_whatever_is_done_in_whatever_order_every_message_stays_represented(
    filled: Conversation, chat: Chat, seed: int
) -> None:
    random = Random(seed)
    await ModelProfile.objects.aupdate(window=6_000)
    acts = ("compact", "compact", "compact", "edit", "regenerate", "restore", "undo", "clear", "protect", "fork", "use")
    for number in range(25):
        rows = Message.objects.filter(conversation=chat.conversation, replaced_by=None).order_by("-created_at")
        chosen = random.choice([row async for row in rows[: random.choice((4, 12, 40))]])
        with contextlib.suppress(Refused):
            chat = await done(chat, random.choice(acts), chosen, random)
        await sync_to_async(fits)(chat.conversation)
        chat.llm.clear()
        chat.llm.enqueue(f"reply {number} " + "pad " * 100)
        assert (await chat.say(f"question {number} " + "pad " * 100)).status == "complete"
        await chat.check()
        await sync_to_async(fits)(chat.conversation)


async def test_a_compactions_own_snapshot_is_kept_as_long_as_it_however_many_there_are(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    head = await sync_to_async(transcript.head_of)(chat.conversation.pk)
    rows = []
    for _ in range(7):
        row = await Compaction.objects.acreate(conversation=chat.conversation, trigger="emergency", status="running")
        await sync_to_async(snapshots.keep)(head, Snapshot.Purpose.EMERGENCY, compaction=row)
        await Compaction.objects.filter(pk=row.pk).aupdate(status="succeeded")
        await sync_to_async(snapshots.take_snapshot)(chat.conversation)
        rows.append(row)
    assert await Snapshot.objects.filter(purpose="emergency").acount() == snapshots.RECOVERIES_KEPT
    assert await Snapshot.objects.filter(purpose="rollback").acount() == 2, "they alone can undo their compactions"
    assert await Snapshot.objects.filter(purpose="manual").acount() == snapshots.RECOVERIES_KEPT
    await sync_to_async(snapshots.undo)(chat.conversation, rows[0].pk)
    assert await Compaction.objects.filter(status="undone").acount() == 7


async def test_two_undos_at_once_undo_two_compactions_or_one_of_them_is_refused(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    await chat.compact()

    def undo() -> str:
        try:
            snapshots.rollback(chat.conversation)
        except Conflict as refusal:
            return str(refusal.code)
        finally:
            connections.close_all()
        return "done"

    outcomes = await asyncio.gather(*(asyncio.to_thread(undo) for _ in range(3)))
    assert sorted(outcomes) == ["done", "nothing_to_undo", "nothing_to_undo"]
    assert await Snapshot.objects.filter(purpose="recovery").acount() == 1


async def test_clearing_what_is_not_compressed_changes_nothing(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    for _ in range(6):
        await sync_to_async(snapshots.clear)(chat.conversation)
    assert not await Snapshot.objects.aexists()
