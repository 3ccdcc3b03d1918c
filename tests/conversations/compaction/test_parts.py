"""The parts of a long conversation are summarised at once by a model over HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction

from compression import conf
from compression.models import Checkpoint, Compaction, KeptSummary
from conversations.compaction import cancel, compaction, lease, snapshots
from conversations.compaction.concurrency import ConcurrencyLimiter
from conversations.compaction.fallback import _at_once
from conversations.models import Conversation, ModelProfile
from tests.conversations.chat import Chat, fill
from tests.llm_answers import Answer, Request
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

PARTS = 8
"""Requests for the parts of `long`; one more merges their summaries."""


@pytest.fixture
def long(conversation: Conversation) -> Conversation:
    ModelProfile.objects.update(price_input=1, price_output=2)
    fill(conversation, 124, words=60)
    return conversation


class Crowded(LlmServer):
    """Refuses requests for summaries beyond `places` at the same time, or has them wait in a queue."""

    def __init__(self, places: int, *, queues: bool = False) -> None:
        super().__init__()
        self.places, self.queues = places, queues
        self.busy = self.most = self.refused = 0
        self._free = asyncio.Semaphore(places)

    async def _reply(self, answer: Answer, request: Request, *connection: Any) -> bytes | None:
        if self.queues:
            async with self._free:
                return await super()._reply(answer, request, *connection)
        if self.busy == self.places:
            self.refused += 1
            refusal = Answer(status=429, retry_after="0.2")
            return await super()._reply(refusal, request, *connection)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            return await super()._reply(answer, request, *connection)
        finally:
            self.busy -= 1


async def restored(chat: Chat) -> None:
    """Back to the state before the compaction, as an edit of an earlier message goes back to it."""

    @transaction.atomic
    def restore() -> None:
        snapshots.lock(chat.conversation.pk)
        snapshots.restore(chat.conversation.pk, snapshots.in_effect(chat.conversation.pk).get())

    await sync_to_async(restore)()
    await chat.refresh()


@pytest.mark.long
async def test_four_at_a_time_take_a_third_of_the_time_and_come_to_the_same(
    long: Conversation, chat: Chat, settings: Any
) -> None:
    taken, summaries = {}, {}
    for at_once in (1, 4):
        settings.COMPRESSION_PARTS_AT_ONCE = at_once
        chat.llm.clear()
        chat.llm.summary_takes(seconds=0.6)
        began = time.monotonic()
        row = await chat.compact()
        taken[at_once] = time.monotonic() - began
        assert (row.status, row.summariser) == ("succeeded", "scripted")
        assert row.parts == row.parts_done == PARTS + 1
        assert len(chat.llm.summaries) == PARTS + 1
        assert row.prompt_tokens == sum(request.tokens for request in chat.llm.summaries)
        summaries[at_once] = (await Checkpoint.objects.aget(active=True)).summary
        await restored(chat)
        await KeptSummary.objects.all().adelete()
    assert summaries[4] == summaries[1]
    assert taken[4] < 0.6 * taken[1], "three rounds, not nine"


async def test_a_cancel_ends_all_requests_at_once_and_what_was_had_is_not_asked_for_again(
    long: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue_summary(times=3)
    chat.llm.summary_takes(seconds=60)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 7)
    async with asyncio.timeout(5):
        while await KeptSummary.objects.acount() < 3:
            await asyncio.sleep(0.01)
    await sync_to_async(cancel.cancel)(row)
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: llm.aborted == 4, seconds=5)
    assert not await Checkpoint.objects.aexists()
    chat.llm.clear()
    assert (await chat.compact()).summariser == "scripted"
    assert len(chat.llm.summaries) == PARTS + 1 - 3


async def test_a_run_that_another_worker_takes_up_asks_only_for_what_is_missing(long: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary(times=4)
    chat.llm.summary_takes(seconds=60)
    row = await sync_to_async(lease.claim)(long.pk, trigger="manual", steering=compaction.Steering())
    worker = asyncio.ensure_future(compaction.run(row.pk))
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 8)
    async with asyncio.timeout(5):
        while await KeptSummary.objects.acount() < 4:
            await asyncio.sleep(0.01)
    chat.llm.clear()
    worker.cancel()  # it is stopping, and hands the row back: another one is woken up
    with pytest.raises(asyncio.CancelledError):
        await worker
    row = await chat.compacted(row.pk)
    assert (row.status, row.summariser) == ("succeeded", "scripted")
    assert len(chat.llm.summaries) == PARTS + 1 - 4


@pytest.mark.parametrize(
    "how",
    [
        {"status": 401},
        {"text": "## Summary\nA filter left this.\n\n## State\n- Done: all", "refusal": True},
        {"text": "I'm sorry, I can't help with that."},
        {"text": "## Summary\nPorts.\n\n## State\n- Done: it stops in the mid", "finish_reason": "length"},
        {"status": 429, "retry_after": "3600"},
    ],
)
async def test_one_failure_loses_nothing_of_the_others(long: Conversation, chat: Chat, how: dict[str, Any]) -> None:
    chat.llm.enqueue_summary()
    chat.llm.enqueue_summary(delay=0.2, **how)
    chat.llm.enqueue_summary(delay=0.6, times=2)
    chat.llm.summary_takes(seconds=0.4)
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    asked = len(chat.llm.summaries)
    assert 4 <= asked <= 6 and not chat.llm.aborted
    assert await KeptSummary.objects.acount() == asked - 1
    assert row.prompt_tokens
    await restored(chat)
    chat.llm.clear()
    assert (await chat.compact()).summariser == "scripted"
    assert len(chat.llm.summaries) == PARTS + 1 - (asked - 1)


@pytest.mark.parametrize("how", [{"fault": "half"}, {"status": 503}, {"fault": "reset"}])
async def test_what_can_be_asked_again_is_while_the_others_go_on(
    long: Conversation, chat: Chat, how: dict[str, Any]
) -> None:
    chat.llm.enqueue_summary()
    chat.llm.enqueue_summary(**how)
    row = await chat.compact()
    assert (row.status, row.summariser, row.steps) == ("succeeded", "scripted", [])
    assert len(chat.llm.summaries) == PARTS + 2


@pytest.mark.parametrize("places", [1, 2, 3])
async def test_a_provider_that_refuses_so_many_at_once_is_asked_fewer_at_a_time(
    long: Conversation, chat: Chat, places: int
) -> None:
    with Crowded(places) as crowded:
        await ModelProfile.objects.aupdate(base_url=crowded.url)
        crowded.summary_takes(seconds=0.1)
        row = await chat.compact()
        assert (row.status, row.summariser, row.steps) == ("succeeded", "scripted", [])
        assert len(crowded.summaries) == PARTS + 1 + crowded.refused
        assert 1 <= crowded.refused <= {1: 4, 2: 2, 3: 1}[places], "it is remembered for the rest of the run"
        assert crowded.most <= places


async def test_a_server_with_one_place_and_a_queue_is_asked_fewer_at_a_time(
    long: Conversation, chat: Chat, settings: Any
) -> None:
    """The last of four waits longer than a model may be silent: asked one at a time none does."""
    settings.MODEL_TIMEOUT_SECONDS = 1.2
    with Crowded(1, queues=True) as crowded:
        await ModelProfile.objects.aupdate(base_url=crowded.url)
        crowded.summary_takes(seconds=0.5)
        row = await chat.compact()
        assert (row.status, row.summariser, row.steps) == ("succeeded", "scripted", [])


async def test_a_provider_that_refuses_everything_is_not_asked_for_ever(long: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary(times=50, status=429, retry_after="0")
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    assert row.steps[0]["code"] == "rate_limited"
    assert len(chat.llm.summaries) <= 3 + 3 + 4 + 2, "the usual attempts, and those refused with four and with two"


async def test_a_merge_that_is_refused_alone_has_the_usual_attempts(long: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary(times=PARTS)
    chat.llm.enqueue_summary(times=20, status=429, retry_after="0")
    row = await chat.compact()
    assert row.summariser == "extractive"
    assert len(chat.llm.summaries) <= PARTS + 3
    await restored(chat)
    chat.llm.clear()
    assert (await chat.compact()).summariser == "scripted"
    assert len(chat.llm.summaries) == 1, "the parts' summaries were had"


async def test_places_are_given_in_order_of_need_and_a_cancelled_wait_takes_none() -> None:
    at_once = ConcurrencyLimiter(2)
    held: list[int] = []
    gone = asyncio.Event()

    async def hold(number: int) -> None:
        async with at_once.slot():
            held.append(number)
            await gone.wait()

    tasks = [asyncio.ensure_future(hold(number)) for number in range(4)]
    while len(held) < 2:
        await asyncio.sleep(0)
    tasks[2].cancel()
    gone.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert held == [0, 1, 3]
    assert isinstance(done[2], asyncio.CancelledError)


@pytest.mark.parametrize(("number", "is_fine"), [(0, False), (1, True), (16, True), (17, False)])
def test_the_setting_is_checked_at_the_start(settings: Any, number: int, is_fine: bool) -> None:
    settings.COMPRESSION_PARTS_AT_ONCE = number
    words = [error.msg for error in conf.check_settings()]
    assert words == ([] if is_fine else [f"COMPRESSION_PARTS_AT_ONCE must be from 1 to 16, not {number}."])


async def test_the_builtin_model_is_asked_one_at_a_time(long: Conversation) -> None:
    limits: dict[str, ConcurrencyLimiter] = {}
    builtin = ModelProfile(provider=ModelProfile.Provider.BUILTIN)
    remote, twin = (ModelProfile(provider="openai", base_url="https://a.example/v1", name=name) for name in "ab")
    assert _at_once(builtin, limits).limit == 1
    assert _at_once(remote, limits).limit == 4
    assert _at_once(twin, limits) is _at_once(remote, limits)


async def test_a_row_is_ended_once_whatever_its_parts_were_at(long: Conversation, chat: Chat) -> None:
    """A lease that is lost ends all parts, and the row stays as the other worker left it."""
    chat.llm.summary_takes(seconds=60)
    row = await chat.start_compaction()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 4)
    await Compaction.objects.filter(pk=row.pk).aupdate(status="discarded")
    lease.wake(row.pk)
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: llm.aborted == 4, seconds=5)
    assert (await Compaction.objects.aget(pk=row.pk)).status == "discarded"
