"""Leases of compactions: whoever lost one writes nothing, and what a person asked for is done all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.utils import timezone

from compression.core.values import Steering
from compression.ids import uuid7
from compression.leases import expiry
from compression.models import Checkpoint, Compaction
from conversations import background, compaction, lease, orphans
from conversations.models import Conversation
from tests.conversations.chat import Chat, fill
from tests.conversations.conftest import chat

__all__ = ["chat"]


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 12)
    return conversation


def run_out() -> None:
    """As if their workers had stood still until now."""
    Compaction.objects.filter(status__in=Compaction.ACTIVE).update(lease_expires_at=timezone.now())


def claimed(conversation: Conversation, trigger: str = "manual") -> Compaction:
    return lease.claim(conversation.pk, trigger=trigger, steering=Steering())


async def thinking(chat: Chat, trigger: str = "manual") -> Compaction:
    """A compaction that waits for its summary."""
    row = await chat.start_compaction(trigger)
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    return row


async def test_what_its_worker_was_too_late_with_is_taken_up_again_where_a_person_asked(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue_summary(delay=0.4)
    row = await thinking(chat)
    await sync_to_async(run_out)()
    ended = await chat.compacted(row.pk)
    assert (ended.status, len(chat.llm.summaries)) == ("succeeded", 2)
    assert lease.RESUMED in ended.steps
    assert await Checkpoint.objects.acount() == 1


async def test_it_is_taken_up_again_once_and_then_failed(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary(delay=0.4, times=2)
    row = await thinking(chat)
    await sync_to_async(run_out)()
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.summaries) == 2)
    await sync_to_async(run_out)()
    ended = await chat.compacted(row.pk)
    assert (ended.status, ended.error) == ("failed", lease.ABANDONED)
    assert not chat.conversation.is_compressed


async def test_no_result_is_written_after_the_lease_even_if_nobody_took_over(filled: Conversation, chat: Chat) -> None:
    chat.llm.enqueue_summary(delay=0.4)
    row = await sync_to_async(claimed)(filled, "auto")
    running = asyncio.create_task(compaction.run(row.pk))
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    await sync_to_async(run_out)()
    await running
    ended = await chat.compacted(row.pk)
    assert ended.status == "discarded"
    assert not chat.conversation.is_compressed
    assert not await Checkpoint.objects.aexists()


async def test_a_stale_worker_changes_nothing_while_anothers_lease_is_fresh(filled: Conversation, chat: Chat) -> None:
    """By its token alone: the lease that is stored has not run out, and the row is at work."""
    chat.llm.enqueue_summary(delay=0.4)
    row = await sync_to_async(claimed)(filled, "auto")
    stale = asyncio.create_task(compaction.run(row.pk))
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
    another = uuid7()
    await Compaction.objects.filter(pk=row.pk).aupdate(lease_token=another, lease_expires_at=expiry())
    await stale
    found = await Compaction.objects.aget(pk=row.pk)
    assert (found.status, found.lease_token) == ("running", another)
    await chat.refresh()
    assert not chat.conversation.is_compressed
    assert not await Checkpoint.objects.aexists()


async def test_no_verb_of_a_lease_works_with_a_stale_token(filled: Conversation) -> None:
    row = await sync_to_async(claimed)(filled)
    stale = await sync_to_async(lease.start)(row.pk, uuid7())
    assert stale is not None
    another = uuid7()
    await Compaction.objects.filter(pk=row.pk).aupdate(lease_token=another, lease_expires_at=expiry())
    before = await Compaction.objects.filter(pk=row.pk).values().aget()
    with pytest.raises(lease.LeaseLost):
        await lease.advance(stale, "validate", 90, summariser="stale")
    for status in ("succeeded", "failed"):
        with pytest.raises(lease.LeaseLost):
            await sync_to_async(lease.finish)(stale, status, error="stale")
    await sync_to_async(lease.hand_back)(stale)
    await sync_to_async(lease.release)(row.pk, error="stale", token=stale.lease_token)
    assert await sync_to_async(lease.start)(row.pk, uuid7()) is None
    assert await Compaction.objects.filter(pk=row.pk).values().aget() == before


async def test_a_late_heartbeat_revives_no_lease(filled: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    row = await sync_to_async(claimed)(filled)
    row = await sync_to_async(lease.start)(row.pk, uuid7())
    assert row is not None
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.2)
    await sync_to_async(run_out)()
    with pytest.raises(lease.LeaseLost):
        async with asyncio.timeout(10), lease.renewed(row):
            await asyncio.Event().wait()
    assert await Compaction.objects.filter(pk=row.pk, lease_expires_at__lt=timezone.now()).aexists()


async def test_a_heartbeat_keeps_a_lease_that_is_not_over(
    filled: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LEASE_SECONDS", 2)
    row = await sync_to_async(claimed)(filled)
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.4)
    row = await sync_to_async(lease.start)(row.pk, uuid7())
    assert row is not None
    before = row.lease_expires_at
    async with asyncio.timeout(10), lease.renewed(row):
        for _ in range(3):  # beats, each later than the one before
            while not await Compaction.objects.filter(pk=row.pk, lease_expires_at__gt=before).aexists():
                await asyncio.sleep(0.01)
            before = (await Compaction.objects.aget(pk=row.pk)).lease_expires_at
        assert await Compaction.objects.filter(pk=row.pk, lease_expires_at__gt=timezone.now()).aexists()


class Beats:
    """Which statements renew a lease."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith('UPDATE "compression_compaction"'):
            self.seen.append(sql)
        return result


def once_after(update_of: str, act: Callable[[], Any]) -> Callable[..., Any]:
    """Does it when a table has been written to for the first time, before who wrote goes on."""
    done: list[Any] = []

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith(f'UPDATE "{update_of}"') and not done:
            done.append(None)
            act()
        return result

    return meanwhile


async def test_who_stood_still_while_taking_a_row_up_does_not_work_under_anothers_lease(
    filled: Conversation, chat: Chat
) -> None:
    others: list[UUID] = []

    def taken_over() -> None:
        run_out()
        orphans.sweep()
        others.append(Compaction.objects.get().lease_token)

    def stand_still(row: Compaction) -> Compaction | None:
        with connection.execute_wrapper(once_after("compression_compaction", taken_over)):
            return lease.start(row.pk, uuid7())

    row = await sync_to_async(claimed)(filled)
    found = await sync_to_async(stand_still)(row)
    assert others
    assert found is None
    assert (await chat.compacted(row.pk)).status == "succeeded"


async def test_a_second_worker_that_is_stopped_leaves_the_first_ones_work_alone(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue_summary(delay=0.3)
    row = await thinking(chat)
    second = asyncio.create_task(compaction.run(row.pk))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert (await chat.compacted(row.pk)).status == "succeeded"
    assert len(chat.llm.summaries) == 1


async def test_what_a_person_asked_for_is_handed_back_by_who_is_stopped_as_he_takes_it_up(
    filled: Conversation, chat: Chat
) -> None:
    row = await sync_to_async(claimed)(filled)
    taking = asyncio.create_task(compaction.run(row.pk))
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    ended = await chat.compacted(row.pk)
    assert (ended.status, lease.RESUMED in ended.steps) == ("succeeded", False)


@pytest.mark.parametrize("grace", [0, 5])
async def test_a_stop_in_good_order_finishes_or_hands_back(filled: Conversation, chat: Chat, grace: float) -> None:
    """Within the grace what can end ends; the rest is there for the next start."""
    chat.llm.enqueue_summary(delay=0.3)
    row = await thinking(chat)
    work = background._server
    assert work is not None
    await work.stop(grace=grace)
    found = await Compaction.objects.aget()
    assert found.status == ("succeeded" if grace else "pending")
    background.attach(asyncio.get_running_loop())
    await asyncio.sleep(0.01)
    await sync_to_async(orphans.sweep)()
    ended = await chat.compacted(row.pk)
    assert (ended.status, lease.RESUMED in ended.steps) == ("succeeded", False)


@pytest.mark.parametrize(("trigger", "minutes", "ends"), [("api", 9, "succeeded"), ("api", 11, "failed")])
async def test_what_waited_too_long_for_a_worker_is_given_up(
    filled: Conversation, chat: Chat, trigger: str, minutes: int, ends: str
) -> None:
    row = await sync_to_async(claimed)(filled, trigger)
    asked_at = timezone.now() - timedelta(minutes=minutes)
    await Compaction.objects.aupdate(created_at=asked_at, lease_expires_at=timezone.now())
    await sync_to_async(orphans.sweep)()
    assert (await chat.compacted(row.pk)).status == ends


async def test_what_is_delivered_five_times_is_done_once(filled: Conversation, chat: Chat) -> None:
    row = await chat.start_compaction()
    for _ in range(5):
        await sync_to_async(background.enqueue)("compact", str(row.pk))
    await chat.compacted(row.pk)
    for _ in range(5):
        await sync_to_async(background.enqueue)("compact", str(row.pk))
    await chat.idle()
    assert len(chat.llm.summaries) == 1
    assert await Checkpoint.objects.acount() == 1


async def test_a_lease_that_is_not_over_is_left_alone(filled: Conversation, chat: Chat) -> None:
    row = await sync_to_async(claimed)(filled)
    await Compaction.objects.aupdate(lease_expires_at=expiry())
    assert await sync_to_async(orphans.sweep)() == 0
    assert (await Compaction.objects.aget(pk=row.pk)).lease_token == row.lease_token
