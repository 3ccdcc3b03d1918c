"""How far a compaction is, and how long it will take: in the API, the page and the admin."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from compression.leases import expiry
from compression.models import Compaction
from conversations import compaction
from conversations.models import Conversation
from tests.conversations.api import Api
from tests.conversations.chat import Chat, fill

SECONDS = (2, 4, 4, 30)


def earlier(conversation: Conversation, *, summariser: str, seconds: float, age: int = 1) -> None:
    moment = timezone.now() - timedelta(minutes=age)
    Compaction.objects.create(
        conversation=conversation, trigger="auto", status="succeeded", summariser=summariser,
        duration_ms=int(1000 * seconds), created_at=moment,
    )  # fmt: skip


def running(conversation: Conversation, **fields: Any) -> Compaction:
    fields = {"stage": "summarise", "percent": 25, "summariser": "slow", **fields}
    return Compaction.objects.create(
        conversation=conversation, trigger="manual", status="running", lease_expires_at=expiry(), **fields
    )


def test_the_remaining_time_is_the_median_of_that_summariser_times_the_share_that_is_left(
    conversation: Conversation,
) -> None:
    for seconds in SECONDS:
        earlier(conversation, summariser="slow", seconds=seconds)
    for _ in range(30):
        earlier(conversation, summariser="extractive", seconds=0.01)
    row = running(conversation)
    assert compaction.eta_seconds(row) == 3
    row.percent = 75
    assert compaction.eta_seconds(row) == 1
    row.summariser = "never seen"
    assert compaction.eta_seconds(row) is None
    row.status = "succeeded"
    assert compaction.eta_seconds(row) == 0


def test_only_the_last_twenty_runs_count(conversation: Conversation) -> None:
    for number in range(40):
        earlier(conversation, summariser="slow", seconds=8 if number < 20 else 100, age=1 + number)
    assert compaction.eta_seconds(running(conversation, percent=0)) == 8


def test_stage_percent_and_remaining_time_are_told_everywhere(conversation: Conversation, user: User) -> None:
    earlier(conversation, summariser="slow", seconds=40)
    row = running(conversation)
    client = Client()
    client.force_login(user)
    told = Api(user).get(f"/api/tasks/{row.pk}/progress").json()
    assert (told["stage"], told["percent"], told["eta_seconds"]) == ("summarise", 25, 30)
    page = client.get(f"/c/{conversation.pk}/status").content.decode()
    assert "summarising" in page and "25 %" in page and "about 30 s" in page
    client.force_login(User.objects.create_superuser("root"))
    for address in ("", f"{row.pk}/change/"):
        page = client.get(f"/admin/compression/compaction/{address}").content.decode()
        assert "summarising, 25 %, about 30 s" in page
        assert 'http-equiv="refresh"' in page
    Compaction.objects.filter(pk=row.pk).update(status="failed")
    page = client.get(f"/admin/compression/compaction/{row.pk}/change/").content.decode()
    assert "about" not in page and 'http-equiv="refresh"' not in page


async def test_the_row_says_who_is_at_it_while_it_runs(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 20)
    chat.llm.summary_takes(seconds=1)
    begun = await chat.start_compaction()
    async with asyncio.timeout(10):
        while (row := await Compaction.objects.aget(pk=begun.pk)).stage != "summarise":
            await asyncio.sleep(0.01)
    assert row.summariser == "scripted"
    await sync_to_async(earlier)(conversation, summariser="scripted", seconds=100)
    assert 0 < (await sync_to_async(compaction.eta_seconds)(row) or 0) <= 100
    await chat.compacted(begun.pk)
