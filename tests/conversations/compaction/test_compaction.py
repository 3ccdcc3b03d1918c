from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction, lease
from conversations.compaction.fallback import RESTING
from conversations.errors import Conflict, NotFound, TooMany
from conversations.models import Conversation, Message, ModelProfile
from conversations.requests import next_request, usage
from conversations.runtime.events import hub
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

STATE = ("compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids")


def state(conversation: Conversation) -> dict[str, object]:
    return {name: getattr(conversation, name) for name in STATE}


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def test_compact_by_hand_folds_all_but_the_last_four(filled: Conversation, chat: Chat) -> None:
    row = await chat.compact()
    assert (row.status, row.summariser, row.messages_condensed) == ("succeeded", "scripted", 16)
    assert row.post_tokens < row.pre_tokens
    sixteenth = await Message.objects.order_by("created_at").aget(content__startswith="Message 15 ")
    assert chat.conversation.compressed_at == sixteenth.created_at
    assert chat.conversation.compressed_context.startswith("[Compressed Message Summary]\n\n# Conversation Summary")
    chat.llm.clear()
    await chat.say("and now?")
    await chat.check()
    assert len(chat.llm.last_request.messages) == 2 + 4 + 1


async def test_messages_are_never_changed_by_a_compaction(filled: Conversation, chat: Chat) -> None:
    before = [row async for row in Message.objects.order_by("created_at").values()]
    await chat.compact()
    assert [row async for row in Message.objects.order_by("created_at").values()] == before


async def test_the_context_is_compressed_before_the_request_that_would_fill_it(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 40)
    with hub.listen(chat.conversation.pk) as listener:
        await chat.say("what was port 3?")
        seen = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    kinds = [event.type for event in seen]
    assert kinds.index("compression.started") < kinds.index("compression.completed") < kinds.index("message.delta")
    stages = dict.fromkeys(event.data["stage"] for event in seen if event.type == "compression.progress")
    assert list(stages) == ["identify", "prepare", "summarise", "checkpoint", "update", "validate"]
    row = await Compaction.objects.aget()
    assert (row.trigger, row.status) == ("auto", "succeeded")
    await chat.check()


async def test_the_second_compaction_folds_the_first_summary_in(
    filled: Conversation, chat: Chat, settings: object
) -> None:
    settings.COMPRESSION_STRATEGY = "rolling"  # type: ignore[attr-defined]
    chat.llm.enqueue_summary("## Summary\nThe vault code is 7719.\n\n## State\n- Done: nothing")
    await chat.compact()
    for number in range(4):
        await chat.say(f"more {number} " + "pad " * 60)
    row = await chat.compact()
    assert row.status == "succeeded"
    assert any("The vault code is 7719." in asked.text for asked in chat.llm.summaries)
    assert await Checkpoint.objects.filter(active=True).acount() == 1
    assert (await Checkpoint.objects.aget(active=True)).original_tokens > row.pre_tokens / 2
    await chat.say("next")
    await chat.check()


async def test_the_summariser_is_shown_every_condensed_word(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    shown = "\n".join(asked.text for asked in chat.llm.summaries)
    async for message in Message.objects.order_by("created_at")[:16]:
        assert message.content in shown


async def test_a_transcript_larger_than_the_summariser_is_read_in_chunks_that_fit(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 60, words=60)
    row = await chat.compact()
    assert row.status == "succeeded"
    assert len(chat.llm.summaries) > 1
    assert max(request.tokens for request in chat.llm.summaries) < 4_000
    shown = "\n".join(request.text for request in chat.llm.summaries)
    async for message in Message.objects.order_by("created_at")[:56]:
        assert message.content in shown


@pytest.mark.parametrize(
    "how",
    [
        {"text": " \n"},
        {"text": "I'm sorry, I can't help with that."},
        {"text": "## Summary\nPorts.\n\n## State\n- Done: it stops in the mid", "finish_reason": "length"},
        {"text": "They talked about ports and that was that."},
        {"text": "<think>what should I say"},
        {"text": "no", "refusal": True},
        {"status": 401},
        {"fault": "html"},
        {"fault": "null"},
    ],
)
async def test_a_bad_summary_is_never_used_and_the_next_summariser_takes_over(
    filled: Conversation, chat: Chat, how: dict[str, object]
) -> None:
    chat.llm.enqueue_summary(times=3, **how)  # type: ignore[arg-type]
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    assert row.steps[0]["summariser"] == "scripted"
    assert "port 500" in chat.conversation.compressed_context
    await chat.say("still there?")
    await chat.check()


async def test_a_message_sent_while_compressing_waits_and_reaches_the_next_request(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.summary_takes(seconds=0.4)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    begun = await chat.send("the port is 5433")
    assert not chat.llm.chats
    assert (await chat.compacted(row.pk)).status == "succeeded"
    await chat.ended(begun.reply.pk)
    assert "the port is 5433" in chat.llm.chats[-1].text
    await chat.check()


async def test_only_one_compaction_runs_at_a_time(filled: Conversation, chat: Chat) -> None:
    chat.llm.summary_takes(seconds=0.3)
    row = await chat.start_compaction()
    with pytest.raises(Conflict) as refused:
        await chat.start_compaction()
    assert refused.value.detail["task_id"] == str(row.pk)
    await chat.compacted(row.pk)


async def test_undo_is_exact_and_messages_written_since_stay(filled: Conversation, chat: Chat) -> None:
    before = state(chat.conversation)
    first = await chat.compact()
    after_first = state(chat.conversation)
    await chat.say("in between " + "pad " * 80)
    await chat.say("and more " + "pad " * 80)
    second = await chat.compact()
    assert second.status == "succeeded"
    await sync_to_async(compaction.undo)(chat.conversation, second.pk)
    await chat.refresh()
    assert state(chat.conversation) == after_first
    await sync_to_async(compaction.rollback)(chat.conversation)
    await chat.refresh()
    assert state(chat.conversation) == before
    assert not await Checkpoint.objects.filter(active=True).aexists()
    statuses = {row.pk: row.status async for row in Compaction.objects.all()}
    assert statuses == {first.pk: "undone", second.pk: "undone"}
    with pytest.raises(Conflict):
        await sync_to_async(compaction.rollback)(chat.conversation)
    assert await Message.objects.filter(content__startswith="in between").aexists()


async def test_undoing_an_earlier_compaction_undoes_the_later_ones_too(filled: Conversation, chat: Chat) -> None:
    first = await chat.compact()
    await chat.say("in between " + "pad " * 80)
    await chat.say("and more " + "pad " * 80)
    await chat.compact()
    await sync_to_async(compaction.undo)(chat.conversation, first.pk)
    await chat.refresh()
    assert not chat.conversation.is_compressed
    await chat.say("all of it?")
    await chat.check()


async def test_a_recovery_snapshot_brings_back_what_was_undone(filled: Conversation, chat: Chat) -> None:
    row = await chat.compact()
    compressed = state(chat.conversation)
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    recovery = await Snapshot.objects.aget(purpose="recovery")
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=recovery.pk)
    await chat.refresh()
    assert state(chat.conversation) == compressed
    assert (await Compaction.objects.aget()).status == "succeeded"
    assert await Checkpoint.objects.filter(active=True).acount() == 1


async def test_another_conversations_snapshot_is_not_found(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    other = await Conversation.objects.acreate(owner_id=chat.conversation.owner_id)
    snapshot = await Snapshot.objects.aget()
    with pytest.raises(NotFound):
        await sync_to_async(compaction.rollback)(other, snapshot_id=snapshot.pk)


async def test_a_compaction_of_a_state_that_changed_is_discarded(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await chat.say("in between " + "pad " * 80)
    await chat.say("and more " + "pad " * 80)
    chat.llm.summary_takes(seconds=0.4)
    made = len(chat.llm.summaries)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) > made)
    await sync_to_async(compaction.rollback)(chat.conversation)
    assert (await chat.compacted(row.pk)).status == "discarded"
    assert not chat.conversation.is_compressed


async def test_a_worker_whose_lease_was_taken_cannot_write(filled: Conversation, chat: Chat) -> None:
    chat.llm.summary_takes(seconds=0.4)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    await Compaction.objects.filter(pk=row.pk).aupdate(status="failed", error="swept")
    await chat.idle()
    await chat.refresh()
    assert not chat.conversation.is_compressed
    assert not await Checkpoint.objects.aexists()
    assert (await Compaction.objects.aget()).error == "swept"


@pytest.mark.parametrize(("trigger", "ends"), [("auto", "failed"), ("manual", "succeeded")])
async def test_an_abandoned_compaction_does_not_hold_up_a_turn(
    filled: Conversation, chat: Chat, trigger: str, ends: str
) -> None:
    """What a person asked for is taken up again, once."""
    await Compaction.objects.acreate(
        conversation=filled, trigger=trigger, status="running", lease_expires_at=timezone.now()
    )
    reply = await chat.say("anyone?")
    assert reply.status == "complete"
    row = await Compaction.objects.alatest("created_at")
    assert row.status == ends
    assert (lease.RESUMED in row.steps) == (ends == "succeeded")


async def test_too_few_messages_are_skipped_with_the_reason(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 6)
    row = await chat.compact()
    assert row.status == "skipped"
    assert "at least 3" in row.error
    assert not chat.conversation.is_compressed


async def test_protected_messages_are_sent_word_for_word_after_they_are_passed(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 20, protected=(3, 15))
    await chat.compact()
    assert len(chat.conversation.verbatim_ids) == 1  # the other one stands after the cut anyway
    await chat.say("what did I pin?")
    await chat.check()
    sent = chat.llm.last_request.messages
    assert sent[2]["content"].startswith("Message 3 ")
    look = await sync_to_async(next_request.preview)(chat.conversation)
    assert look.usage is not None and look.usage.protected > 0


async def test_keep_recent_and_up_to_are_obeyed(filled: Conversation, chat: Chat) -> None:
    tenth = await Message.objects.aget(content__startswith="Message 9 ")
    row = await chat.compact(trigger="api", up_to=str(tenth.pk))
    assert (row.messages_condensed, chat.conversation.compressed_at) == (10, tenth.created_at)
    row = await chat.compact(trigger="api", keep_recent=0)
    assert row.messages_condensed == 10
    await chat.say("anything left?")
    await chat.check()


async def test_instructions_reach_the_summariser(filled: Conversation, chat: Chat) -> None:
    await chat.compact(instructions="keep every port")
    assert "keep every port" in chat.llm.summaries[-1].text


async def test_a_provider_that_finds_the_prompt_too_long_gets_one_compaction_and_one_retry(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue(status=400, code="context_length_exceeded")
    chat.llm.enqueue("fits now")
    assert (await chat.say("hello?")).content == "fits now"
    assert (await Compaction.objects.aget()).status == "succeeded"
    chat.llm.enqueue(status=400, code="context_length_exceeded", times=5)
    reply = await chat.say("and again?")
    assert reply.status == "failed"
    assert len(chat.llm.chats) == 4


async def test_disabled_compression_truncates_on_overflow_and_asks_no_model(
    conversation: Conversation, chat: Chat, settings: object
) -> None:
    settings.COMPRESSION_ENABLED = False  # type: ignore[attr-defined]
    await sync_to_async(fill)(conversation, 40)
    reply = await chat.say("go on")
    assert reply.status == "complete"
    assert not chat.llm.summaries
    row = await Compaction.objects.aget()
    assert (row.summariser, row.status) == ("truncation", "succeeded")
    assert (await Checkpoint.objects.aget()).provisional
    await chat.check()
    by_hand = await chat.compact()
    assert by_hand.status in ("succeeded", "skipped") and not chat.llm.summaries, "no model is asked by hand either"


async def test_what_cannot_fit_even_compressed_fails_the_reply_and_names_the_parts(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 12, words=200, protected=tuple(range(12)))
    reply = await chat.say("hello?")
    assert reply.status == "failed"
    assert "protected" in reply.error
    assert not chat.llm.chats


async def test_ten_compactions_a_minute_are_enough(filled: Conversation, chat: Chat) -> None:
    for _ in range(9):
        await Compaction.objects.acreate(conversation=filled, trigger="manual", status="skipped")
    assert (await chat.compact()).status == "succeeded", "the tenth is one of ten"
    with pytest.raises(TooMany) as refused:
        await chat.start_compaction()
    assert 0 < refused.value.retry_after <= 60


async def test_automatic_compactions_rest_between_two(filled: Conversation, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(window=3_000)
    await chat.say("first")
    await chat.say("second")
    await chat.say("third")
    assert await Compaction.objects.filter(trigger="auto").acount() <= 1


@pytest.mark.parametrize(
    ("typed", "instructions"),
    [
        ("/compact", ""),
        ("  /Compact  ", ""),
        ("/compact keep the ports", "keep the ports"),
        ("/COMPACT\nkeep\nboth", "keep\nboth"),
        ("please /compact this", None),
        ("/compaction", None),
        ("/compact/", None),
    ],
)
def test_the_typed_command_is_told_from_text(typed: str, instructions: str | None) -> None:
    assert compaction.command(typed) == instructions


async def test_a_conversations_own_policy_goes_before_the_settings(filled: Conversation, chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"keep_recent": 8, "min_messages": 2})
    row = await chat.compact()
    assert row.messages_condensed == 12


async def test_every_open_page_is_told_of_an_undo(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    with hub.listen(chat.conversation.pk) as listener:
        await sync_to_async(compaction.rollback)(chat.conversation)
        async with asyncio.timeout(10):
            while (await listener.queue.get()).type != "resync":
                pass


@pytest.mark.parametrize("strategy", ["checkpoints", "rolling", "continuation", "truncate"])
async def test_every_strategy_keeps_every_message_represented_over_many_compactions(
    filled: Conversation, chat: Chat, settings: object, strategy: str
) -> None:
    settings.COMPRESSION_STRATEGY = strategy  # type: ignore[attr-defined]
    for turns in range(5):
        assert (await chat.compact()).status in ("succeeded", "skipped")
        for number in range(3):
            await chat.say(f"more {turns} {number} " + "pad " * 80)
        await chat.check()
    succeeded = [row async for row in Compaction.objects.filter(status="succeeded")]
    assert len(succeeded) > 2
    assert {row.strategy for row in succeeded} == {strategy}
    if strategy == "truncate":
        assert not chat.llm.summaries


async def test_notes_of_a_truncation_are_written_anew_by_the_next_summariser_that_works(
    filled: Conversation, chat: Chat
) -> None:
    await Conversation.objects.aupdate(policy={"strategy": "truncate"})
    await chat.compact()
    assert (await Checkpoint.objects.aget(active=True)).provisional
    await Conversation.objects.aupdate(policy={})
    await chat.say("one more " + "pad " * 80)
    await chat.say("two more " + "pad " * 80)
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "scripted")
    shown = "\n".join(asked.text for asked in chat.llm.summaries)
    first = await Message.objects.order_by("created_at").afirst()
    assert first is not None and first.content in shown
    assert not [one async for one in Checkpoint.objects.filter(active=True) if one.provisional]
    await chat.say("all there?")
    await chat.check()


async def test_a_model_that_failed_three_times_rests_and_then_gets_one_trial(filled: Conversation, chat: Chat) -> None:
    async def grown() -> None:
        for number in range(4):
            await chat.say(f"more {number} " + "pad " * 80)

    chat.llm.enqueue_summary(status=401, times=9)
    for _ in range(3):
        assert (await chat.compact()).summariser == "extractive"
        await grown()
    asked = len(chat.llm.summaries)
    row = await chat.compact()
    assert (row.summariser, row.steps) == (
        "extractive",
        [{"summariser": "scripted", "failed": RESTING, "code": "resting_after_failures"}],
    )
    assert len(chat.llm.summaries) == asked
    await Compaction.objects.aupdate(finished_at=timezone.now() - timedelta(minutes=6))
    await grown()
    row = await chat.compact()
    assert (row.summariser, len(row.steps)) == ("extractive", 1)
    assert len(chat.llm.summaries) == asked + 1
    await grown()
    assert (await chat.compact()).steps == [
        {"summariser": "scripted", "failed": RESTING, "code": "resting_after_failures"}
    ]
    await Compaction.objects.aupdate(finished_at=timezone.now() - timedelta(minutes=6))
    chat.llm.clear()
    await grown()
    assert (await chat.compact()).summariser == "scripted"


async def test_a_summary_that_keeps_too_few_facts_has_the_next_summariser_tried(
    conversation: Conversation, chat: Chat, settings: object
) -> None:
    await sync_to_async(fill)(conversation, 80)
    settings.COMPRESSION_MIN_RETENTION = 0.8  # type: ignore[attr-defined]
    chat.llm.enqueue_summary("## Summary\nThey talked.\n\n## State\n- Done: little", times=9)
    row = await chat.compact()
    assert row.summariser == "extractive"
    assert "facts" in row.steps[0]["failed"]
    settings.COMPRESSION_MIN_RETENTION = 0.0  # type: ignore[attr-defined]
    await sync_to_async(compaction.rollback)(chat.conversation)
    assert (await chat.compact()).summariser == "scripted"


async def test_an_automatic_try_that_could_save_nothing_leaves_no_row(conversation: Conversation, chat: Chat) -> None:
    """Protected messages fill the window beyond the threshold."""
    await sync_to_async(fill)(conversation, 4, words=310, protected=(0, 1, 2, 3))
    await Conversation.objects.aupdate(policy={"threshold": 0.5, "cooldown": 0})
    used = await sync_to_async(usage.usage_of_conversation)(conversation)
    assert used is not None and used.ratio > 0.5
    for text in ("hello", "and again"):
        assert (await chat.say(text)).status == "complete"
    assert not await Compaction.objects.aexists()
