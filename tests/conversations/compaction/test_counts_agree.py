"""A compaction says of its tokens what the meter shows right before and after it, whatever the provider counts."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import ahead_of_time, compaction
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.requests import usage
from conversations.runtime.events import hub
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.compaction.test_emergency import searched
from tests.conversations.pages import Pages, elements
from tests.conversations.requests.test_seeing import words_of

pytestmark = pytest.mark.once

PAIR = re.compile(r"([\d,]+) → ([\d,]+)")
Pair = tuple[int, int]


def pairs(response: Any) -> list[Pair]:
    """All that a page says of tokens before and after."""
    found = PAIR.findall(words_of(response))
    return [(int(before.replace(",", "")), int(after.replace(",", ""))) for before, after in found]


class Counts:
    """What is shown of one conversation's tokens."""

    def __init__(self, chat: Chat, user: User) -> None:
        self.id, self.pages, self.api = chat.conversation.pk, Pages(user), Api(user)

    def meter(self) -> int:
        shown = int(elements(self.pages.get("chat", self.id)).by_id("context-meter")["data-used"])
        assert self.api.get(f"/api/conversations/{self.id}/context").json()["usage"]["total"] == shown
        return shown

    def of(self, row: Compaction) -> set[Pair]:
        """Wherever a compaction that is in force is told of."""
        told = self.api.get(f"/api/tasks/{row.pk}/progress").json()["result"]
        items = self.api.get(f"/api/context/{self.id}/compactions").json()["items"]
        (listed,) = [one for one in items if one["id"] == str(row.pk)]
        found = {(one["pre_tokens"], one["post_tokens"]) for one in (told, listed)}
        for name, *more in (("chat",), ("timeline",), ("compaction", row.pk)):
            shown = pairs(self.pages.get(name, self.id, *more))
            assert shown, name
            found |= set(shown)
        assert f"Tokens saved {row.before - row.after:,}" in words_of(self.pages.get("timeline", self.id))
        return found | set(pairs(self.pages.get("status", self.id, was=row.pk)))


@pytest.fixture
def counts(chat: Chat, user: User) -> Counts:
    return Counts(chat, user)


@pytest.fixture
async def talked(chat: Chat) -> Chat:
    """After some turns with a provider that counts 1.3 times what we do."""
    chat.llm.counts = 1.3
    await sync_to_async(fill)(chat.conversation, 10)
    for number in range(5):
        await chat.say(f"Question {number}, please?")
    profile = await ModelProfile.objects.aget()
    assert 1.1 < profile.token_correction < 1.3
    return chat


async def under_way(chat: Chat) -> None:
    """Wait until a summary was asked for."""
    await sync_to_async(chat.llm.wait_for, thread_sensitive=False)(lambda llm: bool(llm.summaries))


async def test_by_hand_and_through_undo_and_restore(talked: Chat, counts: Counts) -> None:
    before = await sync_to_async(counts.meter)()
    with hub.listen(counts.id) as listener:
        row = await talked.compact()
        after = await sync_to_async(counts.meter)()
        told = [event async for event in _until(listener, "usage.updated")]
    assert row.pre_tokens and before > after
    assert (row.before, row.after) == (before, after)
    assert await sync_to_async(counts.of)(row) == {(before, after)}
    (ended,) = [event.data for event in told if event.type == "compression.completed"]
    assert (ended["before"], ended["after"], told[-1].data["total"]) == (before, after, after)
    await sync_to_async(compaction.undo)(talked.conversation, row.pk)
    assert await sync_to_async(counts.meter)() == before
    recovery = await Snapshot.objects.aget(purpose="recovery")
    await sync_to_async(compaction.rollback)(talked.conversation, snapshot_id=recovery.pk)
    assert await sync_to_async(counts.meter)() == after
    assert await sync_to_async(counts.of)(row) == {(before, after)}


async def _until(listener: Any, type: str) -> Any:
    async for event in listener:
        yield event
        if event.type == type:
            return


async def test_by_itself_before_a_reply(talked: Chat, counts: Counts) -> None:
    talked.llm.summary_takes(seconds=0.5)
    talked.llm.enqueue("There.", delay=3)
    await Conversation.objects.aupdate(policy={"threshold": 0.5})
    begun = await talked.send("so " * 900 + "what now?")
    await under_way(talked)
    before = await sync_to_async(counts.meter)()
    row = await talked.compacted((await Compaction.objects.aget()).pk)
    after = await sync_to_async(counts.meter)()
    assert (await Message.objects.aget(pk=begun.reply.pk)).is_streaming, "the reply would count"
    assert (row.trigger, row.before, row.after) == ("auto", before, after)
    assert await sync_to_async(counts.of)(row) == {(before, after)}
    assert (await talked.ended(begun.reply.pk)).status == "complete"
    assert await sync_to_async(counts.of)(row) == {(before, after)}, "what was learned since changes nothing of it"


async def test_by_what_was_prepared_ahead_and_has_said_nothing_until_it_is_in_force(
    talked: Chat, counts: Counts
) -> None:
    prepared = await talked.start_compaction("ahead")
    row = await talked.compacted(prepared.pk)
    assert (row.status, row.before, row.after) == ("ready", None, None)
    before = await sync_to_async(counts.meter)()
    assert await sync_to_async(ahead_of_time.put_in_force)(counts.id)
    after = await sync_to_async(counts.meter)()
    await row.arefresh_from_db()
    assert (row.status, row.before, row.after) == ("succeeded", before, after)
    assert await sync_to_async(counts.of)(row) == {(before, after)}


async def test_in_an_emergency(conversation: Conversation, chat: Chat, counts: Counts, settings: Any) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await ModelProfile.objects.aupdate(token_correction=1.3)
    await sync_to_async(searched)(conversation, [800, 900, 850])
    chat.llm.enqueue("8080.", delay=3)
    begun = await chat.send("Which ports?")
    await sync_to_async(chat.llm.wait_for, thread_sensitive=False)(lambda llm: bool(llm.chats))
    after = await sync_to_async(counts.meter)()
    row = await Compaction.objects.aget(trigger="emergency")
    assert row.after == after
    assert await sync_to_async(counts.of)(row) == {(row.before, after)}
    await sync_to_async(compaction.undo)(conversation, row.pk)
    assert await sync_to_async(counts.meter)() == row.before
    await chat.ended(begun.reply.pk)


def test_of_what_came_in_with_a_file(conversation: Conversation, user: User) -> None:
    ModelProfile.objects.update(token_correction=1.3)
    fill(conversation, 20)
    Message.objects.filter(content__startswith="Message 2 ").update(is_protected=True)
    compaction.request(conversation, trigger="manual", steering=Steering())
    conversation.refresh_from_db()
    (back,) = import_conversations(user, json.dumps(as_json(conversation)).encode())
    row = Compaction.objects.get(conversation=back)
    assert row.after == usage.total(back.pk)
    compaction.undo(back, row.pk)
    assert row.before == usage.total(back.pk)


def test_a_run_from_before_the_meter_was_noted_says_what_it_said_then(conversation: Conversation, user: User) -> None:
    fill(conversation, 4)
    Compaction.objects.create(
        conversation=conversation, trigger="manual", status="undone", pre_tokens=9_000, post_tokens=600
    )
    assert pairs(Pages(user).get("timeline", conversation.pk)) == [(9_000, 600)]


async def test_of_each_message_and_summary_in_the_api(talked: Chat, counts: Counts) -> None:
    await talked.compact()
    reply = await talked.say("And now?")
    await sync_to_async(_require_counts_alike)(counts, reply.pk)


def _require_counts_alike(counts: Counts, reply: UUID) -> None:
    """A request's parts are rounded together, so that each may differ by one token from its own rounded count."""
    sent = counts.api.get(f"/api/conversations/{counts.id}/messages/{reply}/request").json()
    listed = counts.api.get(f"/api/conversations/{counts.id}/messages", limit=100).json()["items"]
    tokens = {one["id"]: one["token_count"] for one in listed if one["type"] == "message"}
    assert sent["usage"]["correction"] > 1.1
    told = [part for part in sent["parts"] if part["kind"] == "live"]
    assert len(told) > 2
    for part in told:
        assert abs(part["tokens"] - tokens[part["message_id"]]) <= 1
    (checkpoint,) = counts.api.get(f"/api/conversations/{counts.id}/context").json()["checkpoints"]
    stored = Checkpoint.objects.get(active=True).token_count
    assert checkpoint["tokens"] == Conversation.objects.get(pk=counts.id).window.corrected(stored) > stored
