"""A fast summary is not taken for a standard one, nor the other way, and none comes back that was undone or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Checkpoint, Compaction, KeptSummary
from conversations.compaction import after_undo, compaction
from conversations.instructions import conversation_settings
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.turns import forks
from tests.conversations.chat import Chat, fill
from tests.conversations.compaction.test_ahead import fill_up, readied
from tests.conversations.compaction.test_reuse import before, twin, undo

pytestmark = pytest.mark.once

OTHER = {"fast": "standard", "standard": "fast"}
BOTH = pytest.mark.parametrize("first", ["fast", "standard"])


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    """Large enough for one request: what is counted below are requests."""
    ModelProfile.objects.update(window=16_000)
    fill(conversation, 20)
    return conversation


async def forked(chat: Chat) -> Chat:
    last = await Message.objects.filter(conversation=chat.conversation).order_by("created_at").alast()
    assert last is not None
    return replace(chat, conversation=await sync_to_async(forks.fork)(chat.conversation, last.pk))


@BOTH
async def test_a_fork_asks_for_its_own_quality(filled: Conversation, chat: Chat, first: str) -> None:
    await chat.compact(quality=first)
    await before(chat)
    copy = await forked(chat)
    assert not copy.conversation.is_compressed
    await copy.compact(quality=OTHER[first])
    assert len(chat.llm.summaries) == 2
    again = await forked(chat)
    await again.compact(quality=first)
    assert len(chat.llm.summaries) == 2, "of its own quality the answer is there"


@BOTH
async def test_another_conversation_asks_for_its_own_quality(filled: Conversation, chat: Chat, first: str) -> None:
    await chat.compact(quality=first)
    other = await twin(chat, await User.objects.aget())
    await other.compact(quality=OTHER[first])
    assert len(chat.llm.summaries) == 2


@BOTH
async def test_a_quality_that_was_undone_is_asked_anew_and_the_other_one_is_not(
    filled: Conversation, chat: Chat, first: str
) -> None:
    await chat.compact(quality=first)
    await before(chat)
    await chat.compact(quality=OTHER[first])
    await undo(chat)
    assert len(chat.llm.summaries) == 2
    await chat.compact(quality=first)
    assert len(chat.llm.summaries) == 2
    await before(chat)
    await chat.compact(quality=OTHER[first])
    assert len(chat.llm.summaries) == 3


async def test_what_a_turn_asks_for_is_fast_though_a_standard_summary_is_kept(filled: Conversation, chat: Chat) -> None:
    """The same passage, asked for by hand and by a turn."""
    await chat.compact(quality="standard", growth=0)
    await before(chat)
    await chat.compact("auto", growth=0)
    assert len(chat.llm.summaries) == 2


@BOTH
async def test_models_of_both_qualities_each_write_their_own(filled: Conversation, chat: Chat, first: str) -> None:
    for role in OTHER:
        await ModelProfile.objects.acreate(
            name=role, model_id=role, role=role, base_url=chat.llm.url, window=16_000, token_correction=1.0
        )
    assert (await chat.compact(quality=first)).summariser == first
    await before(chat)
    assert (await chat.compact(quality=OTHER[first])).summariser == OTHER[first]
    assert [request.body["model"] for request in chat.llm.summaries] == [first, OTHER[first]]


class TestPrepared:
    @pytest.fixture
    def near(self, conversation: Conversation) -> Conversation:
        """Between 2,400 tokens, where preparing begins, and the 3,000 of the budget."""
        fill(conversation, 18, words=62)
        return conversation

    @pytest.fixture(autouse=True)
    def prepared_ahead(self, settings: Any) -> None:
        settings.COMPRESSION_AHEAD = True

    @pytest.mark.parametrize(("quality", "asked"), [("standard", 2), ("fast", 1)])
    async def test_it_is_not_put_in_force_for_a_standard_one(
        self,
        near: Any,
        chat: Chat,
        quality: str,
        asked: int,
    ) -> None:
        row = await readied(chat)
        assert row.steering["quality"] == "fast"
        prepared = len(chat.llm.summaries)
        done = await chat.compact(quality=quality, up_to=str(row.last_message))
        assert (done.status, done.messages_condensed) == ("succeeded", row.messages_condensed)
        assert done.pk != row.pk
        assert len(chat.llm.summaries) == asked * prepared, "the same passages: of their own quality the answers exist"

    async def test_it_is_discarded_with_the_answer_that_a_person_undid(self, near: Any, chat: Chat) -> None:
        """Made of the same answer as what was undone, it would bring that back."""
        chat.llm.enqueue_summary("## Summary\nMessage 3 says port 5003, badly.\n\n## State\n- Done: all", times=2)
        row = await readied(chat)
        prepared = len(chat.llm.summaries)
        await chat.compact(up_to=str(row.last_message))
        chat.llm.forget_scripted_summaries()
        assert len(chat.llm.summaries) == prepared and "badly" in chat.conversation.compressed_context
        await undo(chat)
        await sync_to_async(after_undo.resume)(chat.conversation.pk)
        await fill_up(chat)
        await chat.refresh()
        assert (await Compaction.objects.aget(pk=row.pk)).status == "discarded"
        assert chat.conversation.is_compressed and "badly" not in chat.conversation.compressed_context
        await chat.check()

    async def test_what_is_prepared_from_other_answers_stays(self, near: Any, chat: Chat) -> None:
        row = await readied(chat)
        await chat.compact(quality="standard", keep_recent=8)
        await undo(chat)
        assert (await Compaction.objects.aget(pk=row.pk)).status == "ready"


async def test_what_was_undone_is_asked_anew_in_a_fork_too(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary("## Summary\nMessage 3 says port 5003, badly.\n\n## State\n- Done: all")
    await chat.compact()
    copy = await forked(chat)
    assert "badly" in copy.conversation.compressed_context
    await undo(chat)
    await before(copy)
    await copy.compact()
    assert len(chat.llm.summaries) == 2
    assert "badly" not in copy.conversation.compressed_context


async def test_what_is_undone_in_a_fork_is_asked_anew_in_its_original(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    copy = await forked(chat)
    await undo(copy)
    assert not await KeptSummary.objects.aexists()
    await before(chat)
    await chat.compact()
    assert len(chat.llm.summaries) == 2


@pytest.mark.parametrize("text", ["I'm sorry, I can't help with that.", "They talked about ports."])
async def test_what_was_refused_is_asked_anew_everywhere(filled: Conversation, chat: Chat, text: str) -> None:
    chat.llm.enqueue_summary(text)
    assert (await chat.compact()).summariser == "extractive"
    copy = await forked(chat)
    await before(copy)
    other = await twin(chat, await User.objects.aget())
    for number, one in enumerate((copy, other), start=2):
        assert (await one.compact(keep_recent=4 + number)).summariser == "scripted"
        assert len(chat.llm.summaries) == number
    texts = [row.summary async for row in Checkpoint.objects.all()]
    assert not any(text in one for one in texts)


async def test_what_is_cleared_is_forgotten_like_what_is_undone(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    assert (await Compaction.objects.aget()).answers
    await sync_to_async(compaction.rollback)(chat.conversation)
    await sync_to_async(conversation_settings.change)(chat.conversation, mode="assistant")
    await chat.refresh()
    await chat.compact()
    assert len(chat.llm.summaries) == 2
