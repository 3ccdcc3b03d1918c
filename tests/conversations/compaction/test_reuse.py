"""A summary of the same request of the same person is kept, and not paid twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, KeptSummary, PromptTemplate
from conversations.compaction import ahead_of_time, compaction, lease, snapshots
from conversations.compaction.answer_store import StoredAnswers
from conversations.compaction.model_summariser import ModelSummariser
from conversations.llm.profiles import connect
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.ops import maintenance
from conversations.turns import conversations
from tests.conversations.chat import Chat, fill
from tests.faults.test_attempts import PASSAGE

pytestmark = pytest.mark.once

HEADINGS = "## Summary\n## Decisions\n## Files\n## State\n## Context"


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    # Large enough for one request: what is counted below are requests.
    ModelProfile.objects.update(window=16_000, price_input=1, price_output=2)
    fill(conversation, 20)
    return conversation


async def undo(chat: Chat) -> None:
    await sync_to_async(compaction.rollback)(chat.conversation)
    await chat.refresh()


async def before(chat: Chat) -> None:
    """Back to the state before, as an edit of an earlier message goes back to it: nobody has undone a summary."""
    await sync_to_async(_restore)(chat.conversation)
    await chat.refresh()


@transaction.atomic
def _restore(conversation: Conversation) -> None:
    snapshots.lock(conversation.pk)
    snapshots.restore(conversation.pk, snapshots.in_effect(conversation.pk).get())


async def twin(chat: Chat, owner: User) -> Chat:
    """A conversation of `owner` with the same texts and dates."""
    other = await Conversation.objects.acreate(owner=owner, model_id=chat.conversation.model_id)
    await sync_to_async(fill)(other, 20)
    return Chat(await Conversation.objects.aget(pk=other.pk), chat.llm)


async def test_the_same_summary_is_not_paid_twice(filled: Conversation, chat: Chat) -> None:
    first = await chat.compact()
    context = chat.conversation.compressed_context
    await before(chat)
    second = await chat.compact()
    assert len(chat.llm.summaries) == 1
    assert (second.status, second.summariser, second.steps) == ("succeeded", "scripted", [])
    assert chat.conversation.compressed_context == context
    assert first.cost_usd and first.prompt_tokens and first.completion_tokens
    assert (second.cost_usd, second.prompt_tokens, second.completion_tokens) == (Decimal(0), 0, 0)
    await chat.say("still all there?")
    await chat.check()


async def test_what_a_person_undid_is_not_handed_out_again(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary("## Summary\nThey say ports, badly.\n\n## State\n- Done: all")
    row = await chat.compact()
    assert row.answers and await KeptSummary.objects.acount() == 1
    await undo(chat)
    assert not await KeptSummary.objects.aexists()
    again = await chat.compact()
    assert (again.status, again.summariser, len(chat.llm.summaries)) == ("succeeded", "scripted", 2)
    assert "badly" not in chat.conversation.compressed_context


async def test_what_was_cleared_is_not_handed_out_again(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await sync_to_async(snapshots.clear)(chat.conversation)
    assert not await KeptSummary.objects.aexists()


async def test_what_is_undone_is_forgotten_and_what_stays_in_force_is_not(filled: Conversation, chat: Chat) -> None:
    await chat.compact(keep_recent=12)
    await sync_to_async(fill_more)(chat.conversation)
    await chat.compact()
    assert await KeptSummary.objects.acount() == 2
    await undo(chat)
    (kept,) = [row.key async for row in KeptSummary.objects.all()]
    assert (await Compaction.objects.aget(status="succeeded")).answers == [kept]


async def test_what_was_prepared_ahead_and_undone_is_not_handed_out_again(filled: Conversation, chat: Chat) -> None:
    row = await sync_to_async(lease.claim)(filled.pk, trigger="ahead", steering=Steering())
    await compaction.run(row.pk)
    assert await sync_to_async(ahead_of_time.put_in_force)(filled.pk)
    await undo(chat)
    assert not await KeptSummary.objects.aexists()


def fill_more(conversation: Conversation) -> None:
    rows = list(Message.objects.filter(conversation=conversation).order_by("created_at"))
    last = rows[-1].created_at
    Message.objects.bulk_create(
        Message(
            conversation=conversation, role=row.role, content=f"Again: {row.content}", token_count=row.token_count,
            created_at=last + timedelta(minutes=number),
        )
        for number, row in enumerate(rows[:8], start=1)
    )  # fmt: skip


@pytest.mark.parametrize("first", ["fast", "standard"])
async def test_with_one_model_for_both_a_quick_summary_is_not_taken_for_a_better_one(
    filled: Conversation, chat: Chat, first: str
) -> None:
    await chat.compact(quality=first)
    await before(chat)
    await chat.compact(quality="standard" if first == "fast" else "fast")
    assert len(chat.llm.summaries) == 2
    await before(chat)
    await chat.compact(quality=first)
    assert len(chat.llm.summaries) == 2


async def test_what_costs_nothing_says_so_where_no_price_is_known(filled: Conversation, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(price_input=None)
    assert (await chat.compact()).cost_usd is None
    await before(chat)
    assert (await chat.compact()).cost_usd == 0


async def test_every_passage_of_a_long_text_is_reused(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 60, words=60)
    await chat.compact()
    asked = len(chat.llm.summaries)
    assert asked > 1
    context = (await Checkpoint.objects.aget(active=True)).summary
    await before(chat)
    await chat.compact()
    assert len(chat.llm.summaries) == asked
    assert (await Checkpoint.objects.aget(active=True)).summary == context


async def test_another_conversation_of_the_same_person_reuses_it(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    other = await twin(chat, await User.objects.aget())
    assert (await other.compact()).summariser == "scripted"
    assert len(chat.llm.summaries) == 1
    assert other.conversation.compressed_context == chat.conversation.compressed_context


async def test_nobody_is_given_another_persons_summary(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary("## Summary\nAlice's own words.\n\n## State\n- Done: all")
    await chat.compact()
    eve = await User.objects.acreate(username="eve")
    other = await twin(chat, eve)
    await other.compact()
    assert len(chat.llm.summaries) == 2
    assert "Alice's own words." in chat.conversation.compressed_context
    assert "Alice's own words." not in other.conversation.compressed_context
    assert {row.owner_id async for row in KeptSummary.objects.all()} == {filled.owner_id, eve.pk}
    assert await KeptSummary.objects.values("key").distinct().acount() == 1


async def _administrators_template(chat: Chat) -> None:
    await PromptTemplate.objects.acreate(mode="", text=f"Otherwise.\n{HEADINGS}")


async def _mode(chat: Chat) -> None:
    await Conversation.objects.aupdate(mode="developer")


async def _model(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(model_id="another")


async def _word(chat: Chat) -> None:
    row = await Message.objects.order_by("created_at").afirst()
    assert row is not None
    await Message.objects.filter(pk=row.pk).aupdate(content=row.content.replace("port", "Port"))


async def _level(chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"level": 1})


async def _length(chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"summary_max_tokens": 150})


async def _prompt(chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"prompt": f"Otherwise.\n{HEADINGS}"})


@pytest.mark.parametrize("change", [_administrators_template, _mode, _model, _word, _level, _length, _prompt])
async def test_another_request_is_asked(filled: Conversation, chat: Chat, change: Any) -> None:
    await chat.compact()
    await before(chat)
    await change(chat)
    assert (await chat.compact()).summariser == "scripted"
    assert len(chat.llm.summaries) == 2


@pytest.mark.parametrize("how", [{"instructions": "keep ports"}, {"prompt": f"Otherwise.\n{HEADINGS}"}])
async def test_other_steering_is_asked_and_the_same_again_is_not(
    filled: Conversation, chat: Chat, how: dict[str, str]
) -> None:
    await chat.compact()
    for _ in range(2):
        await before(chat)
        await chat.compact(**how)
        assert len(chat.llm.summaries) == 2
    await before(chat)
    await chat.compact()
    assert len(chat.llm.summaries) == 2


async def test_a_longer_answer_is_asked_for_even_by_the_same_words(filled: Conversation, chat: Chat) -> None:
    policy = {"prompt": f"Without a number of words.\n{HEADINGS}"}
    for asked, longest in enumerate((150, 300, 150), start=1):
        await Conversation.objects.aupdate(policy=policy | {"summary_max_tokens": longest})
        await chat.compact()
        await before(chat)
        assert len(chat.llm.summaries) == min(asked, 2)


@pytest.mark.parametrize(
    "how",
    [
        {"text": "I'm sorry, I can't help with that."},
        {"text": "## Summary\nPorts.\n\n## State\n- Done: it stops in the mid", "finish_reason": "length"},
        {"text": "They talked about ports and that was that."},
        {"text": "## Summary\nA filter left this.\n\n## State\n- Done: all", "refusal": True},
        {"status": 401},
    ],
)
async def test_a_bad_answer_is_not_kept(filled: Conversation, chat: Chat, how: dict[str, Any]) -> None:
    chat.llm.enqueue_summary(**how)
    assert (await chat.compact()).summariser == "extractive"
    assert not await KeptSummary.objects.aexists()
    await undo(chat)
    assert (await chat.compact()).summariser == "scripted"
    assert await KeptSummary.objects.acount() == 1


async def test_two_who_ask_the_same_at_once_both_succeed(
    filled: Conversation, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    other = await twin(chat, await User.objects.aget())
    chat.llm.summary_takes(seconds=0.2)
    rows = await asyncio.gather(chat.compact(), other.compact())
    assert [row.summariser for row in rows] == ["scripted", "scripted"]
    assert len(chat.llm.summaries) == 2
    assert "could not be kept" not in caplog.text
    assert await KeptSummary.objects.acount() == 1


async def test_the_first_of_two_answers_stays_and_one_that_cannot_be_kept_is_no_fault(filled: Conversation) -> None:
    answers = StoredAnswers(filled.owner_id, filled.pk)
    await asyncio.gather(*(answers.put("key", f"answer {n}") for n in range(8)))
    kept = await answers.get("key")
    assert kept is not None and kept.startswith("answer ")
    await answers.put("key", "later")
    assert await answers.get("key") == kept
    assert await StoredAnswers(filled.owner_id + 1, filled.pk).get("key") is None
    await StoredAnswers(filled.owner_id + 1_000, filled.pk).put("key", "of nobody")


async def test_without_a_store_every_request_is_made(profile: ModelProfile, chat: Chat) -> None:
    for _ in range(2):
        await ModelSummariser(profile, connect(profile), mode="assistant").summarise(PASSAGE)
    assert len(chat.llm.summaries) == 2
    assert not await KeptSummary.objects.aexists()


async def test_a_store_of_any_kind_can_be_handed_in(profile: ModelProfile, chat: Chat) -> None:
    class Shelf(dict[str, str]):
        async def get(self, key: str) -> str | None:  # type: ignore[override]
            return super().get(key)

        async def put(self, key: str, text: str) -> None:
            self[key] = text

        async def forget(self, keys: Any) -> None:
            for key in keys:
                self.pop(key, None)

    shelf = Shelf()
    for _ in range(2):
        asked = ModelSummariser(profile, connect(profile), mode="assistant", answers=shelf)
        written = await asked.summarise(PASSAGE)
        await asked.settle(accepted=True)
        assert shelf[next(iter(shelf))] == written.text
    assert len(chat.llm.summaries) == len(shelf) == 1
    assert not asked.has_asked
    assert all(len(key) == 64 for key in shelf)
    await asked.summarise(PASSAGE)
    await asked.settle(accepted=False)
    assert not shelf


async def test_an_answer_that_was_refused_later_is_not_given_again(filled: Conversation, chat: Chat) -> None:
    german = "Der Dienst ist auf dem Knoten und das ist nicht gut, aber wir haben die Kopie mit dem Team. " * 3
    english = Message.objects.filter(conversation=filled)
    async for row in english:
        row.content += " This is what they said and it was not for the others that would be there with them."
        await row.asave()
    chat.llm.enqueue_summary(f"## Summary\n{german}\n\n## State\n- Done: {german}", times=2)
    first = await chat.compact()
    assert (first.summariser, len(first.steps)) == ("extractive", 1)
    assert "another language" in first.steps[0]["failed"]
    await sync_to_async(compaction.rollback)(chat.conversation)
    chat.llm.clear()
    assert (await chat.compact()).summariser == "scripted"
    assert chat.llm.summaries


async def test_what_was_kept_goes_with_its_conversation(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    assert await KeptSummary.objects.aexists()
    await sync_to_async(conversations.delete)(filled)
    assert not await KeptSummary.objects.aexists()


def test_kept_summaries_go_with_the_logs(filled: Conversation, settings: Any) -> None:
    settings.COMPACTION_LOG_DAYS = 30
    for days in (29, 31):
        KeptSummary.objects.create(
            owner=filled.owner, key=str(days), text="x", created_at=timezone.now() - timedelta(days=days)
        )
    maintenance.tidy()
    assert [row.key for row in KeptSummary.objects.all()] == ["29"]


def test_with_a_person_go_their_kept_summaries(filled: Conversation) -> None:
    KeptSummary.objects.create(owner=filled.owner, key="key", text="x")
    Compaction.objects.all().delete()
    filled.owner.delete()
    assert not KeptSummary.objects.exists()
