"""How far a compaction is, and how long it will take: in the API, the page and the admin."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from compression.leases import expiry
from compression.models import Compaction
from conversations.compaction import lease
from conversations.compaction.progress import eta_seconds, usual_seconds
from conversations.models import Conversation, User
from conversations.runtime.events import hub
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import one_line

pytestmark = pytest.mark.once


def earlier(conversation: Conversation, *, summariser: str, seconds: float, tokens: int = 5_000, age: int = 1) -> None:
    moment = timezone.now() - timedelta(minutes=age)
    Compaction.objects.create(
        conversation=conversation, trigger="auto", status="succeeded", summariser=summariser,
        duration_ms=int(1000 * seconds), pre_tokens=tokens, created_at=moment,
    )  # fmt: skip


def running(conversation: Conversation, **fields: Any) -> Compaction:
    """By what its worker said just now, 30 s are left."""
    now = timezone.now()
    fields = {
        "stage": "summarise", "percent": 25, "summariser": "slow", "status": "running", "parts": 4, "parts_done": 1,
        "eta_ms": 30_000, "advanced_at": now, "started_at": now - timedelta(seconds=10), **fields,
    }  # fmt: skip
    return Compaction.objects.create(conversation=conversation, trigger="manual", lease_expires_at=expiry(), **fields)


def at(row: Compaction, seconds: float) -> int | None:
    assert row.advanced_at
    return eta_seconds(row, now=row.advanced_at + timedelta(seconds=seconds))


def test_the_remaining_time_runs_down_and_is_never_nothing_while_it_runs(conversation: Conversation) -> None:
    row = running(conversation)
    assert [at(row, seconds) for seconds in (0, 10, 25)] == [30, 20, 5]
    assert at(row, 29.5) == 4, "a tenth of what it took so far"
    assert at(running_at(row, eta_ms=0), 0) == 1


def running_at(row: Compaction, **fields: Any) -> Compaction:
    for name, value in fields.items():
        setattr(row, name, value)
    return row


def test_what_is_late_takes_longer_and_longer(conversation: Conversation) -> None:
    row = running_at(running(conversation), lease_expires_at=timezone.now() + timedelta(hours=1))
    assert [at(row, seconds) for seconds in (40, 90, 190)] == [5, 10, 20]


def test_nothing_is_said_where_nobody_is_at_it_or_nothing_is_known(conversation: Conversation) -> None:
    row = running(conversation)
    assert eta_seconds(running_at(row, eta_ms=None)) is None
    assert eta_seconds(running_at(row, eta_ms=5_000, status="pending")) is None
    gone = running_at(row, status="running", lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert eta_seconds(gone) is None
    assert eta_seconds(running_at(row, status="succeeded")) == 0


def test_before_the_first_part_the_last_twenty_runs_of_that_summariser_and_size_count(
    conversation: Conversation,
) -> None:
    for number in range(40):
        earlier(conversation, summariser="slow", seconds=8 if number < 20 else 100, age=1 + number)
    for number in range(30):
        earlier(conversation, summariser="extractive", seconds=0.01, age=1 + number)
        earlier(conversation, summariser="slow", seconds=300, tokens=100_000, age=1 + number)
    assert usual_seconds("slow", 6_000) == 8
    assert usual_seconds("slow", 90_000) == 300
    assert usual_seconds("slow", 500) is None
    assert usual_seconds("never seen", 6_000) is None


def test_stage_percent_and_remaining_time_are_told_everywhere(conversation: Conversation, user: User) -> None:
    row = running(conversation)
    client = Client()
    client.force_login(user)
    told = Api(user).get(f"/api/tasks/{row.pk}/progress").json()
    assert (told["stage"], told["percent"], told["parts"], told["parts_done"]) == ("summarise", 25, 4, 1)
    assert 28 <= told["eta_seconds"] <= 30 and told["elapsed_seconds"] <= 2
    page = one_line(client.get(f"/c/{conversation.pk}/status").content.decode())
    assert "summarising part 2 of 4" in page and "25 %" in page and re.search(r"about (30|29|28) s left", page)
    client.force_login(User.objects.create_superuser("root"))
    for address in ("", f"{row.pk}/change/"):
        page = client.get(f"/admin/compression/compaction/{address}").content.decode()
        assert re.search(r"summarising, part 2 of 4, 25 %, about (30|29|28|27) s left", page)
        assert 'http-equiv="refresh"' in page
    Compaction.objects.filter(pk=row.pk).update(status="failed")
    page = client.get(f"/admin/compression/compaction/{row.pk}/change/").content.decode()
    assert "about" not in page and 'http-equiv="refresh"' not in page


async def test_the_row_says_who_is_at_it_and_percent_moves_as_the_summary_is_written(
    conversation: Conversation, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "WATCH_SECONDS", 0.1)
    await sync_to_async(fill)(conversation, 60, words=60)
    chat.llm.enqueue_summary(times=20, delay=0.05, drip=0.015)
    with hub.listen(conversation.pk) as listener:
        begun = await chat.start_compaction()
        seen: list[tuple[int, int, int | None]] = []
        async with asyncio.timeout(60):
            while (row := await Compaction.objects.aget(pk=begun.pk)).is_active:
                if row.stage == "summarise":
                    assert row.summariser == "scripted"
                    seen.append((row.percent, row.parts_done, eta_seconds(row)))
                await asyncio.sleep(0.02)
        told = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    assert row.status == "succeeded"
    percents = [percent for percent, _, _ in seen]
    assert percents == sorted(percents) and percents[0] == 20 and percents[-1] > 60
    within = {percent for percent, done, _ in seen if done == 0}
    assert len(within) > 1, "it moves while the first part is written"
    assert row.parts > 1 and {done for _, done, _ in seen} >= {0, row.parts - 1}
    known = [eta for _, _, eta in seen if eta is not None]
    assert known and min(known) >= 1
    published = [event.data["percent"] for event in told if event.type == "compression.progress"]
    assert published == sorted(published) and len(set(published)) > 6


async def test_a_further_summariser_goes_on_from_where_the_first_one_was(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 20)
    chat.llm.enqueue_summary(status=401)
    with hub.listen(conversation.pk) as listener:
        row = await chat.compact()
        told = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    assert row.summariser == "extractive"
    percents = [event.data["percent"] for event in told if event.type == "compression.progress"]
    assert percents == sorted(percents) and percents[-1] > 90
