"""What a compaction comes out at: the target where nobody asked for it, and what is kept where a person did."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.plan.policy import RECALL_SHARE, Policy
from compression.core.values import Steering
from compression.models import Checkpoint, Compaction
from conversations.compaction import compaction
from conversations.memory import recall
from conversations.models import Conversation, Message, ModelProfile
from conversations.page.meter import meter
from conversations.requests import usage
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

WINDOW = 16_000
TARGET = Policy().target_ratio * WINDOW
MESSAGE = 110
"""The most tokens of a message that `fill` writes."""


@pytest.fixture
def large(conversation: Conversation) -> Conversation:
    ModelProfile.objects.update(window=WINDOW)
    return conversation


def used(conversation: Conversation) -> Any:
    return usage.usage_of(recall.load(conversation.pk))


async def test_it_comes_out_at_the_target_time_and_again(large: Conversation, chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"summariser": "extractive", "cooldown": 0, "ahead": False})
    await sync_to_async(fill)(large, 300)
    for again in range(4):
        await chat.say(f"What was it with port 500{again}? " + "so " * 3_000)
        row = await Compaction.objects.alatest("created_at")
        assert (row.trigger, row.status) == ("auto", "succeeded")
        if again:
            assert row.request_before >= 0.8 * WINDOW
        question = 3_200  # it came before the compaction, which had to leave room for it
        assert TARGET - 600 - 2 * question < row.request_after <= TARGET + question
        await chat.check()


async def test_one_that_is_prepared_comes_out_there_once_it_is_due(
    large: Conversation, chat: Chat, settings: Any
) -> None:
    settings.COMPRESSION_AHEAD = True
    await Conversation.objects.aupdate(policy={"summariser": "extractive", "cooldown": 0})
    await sync_to_async(fill)(large, 118)
    await chat.say("hello")
    async with asyncio.timeout(10):
        while not await Compaction.objects.filter(status="ready").aexists():
            await asyncio.sleep(0.02)
    before = (await sync_to_async(used)(large)).total
    assert 0.65 * WINDOW <= before < 0.8 * WINDOW
    await sync_to_async(grow)(large, to=int(0.8 * WINDOW))
    await chat.say("and now?")
    row = await Compaction.objects.aget(trigger="ahead")
    assert row.status == "succeeded"
    passages = RECALL_SHARE * (WINDOW - 1_000)  # room for them is reserved, and none is quoted for these words
    assert TARGET - passages - 6 * MESSAGE < row.request_after <= TARGET + 2 * MESSAGE
    await chat.check()


def grow(conversation: Conversation, *, to: int) -> None:
    while used(conversation).total < to:
        last = conversation.messages.latest("created_at")
        role = "user" if last.role == "assistant" else "assistant"
        text = f"More of it, after {last.pk}. " + "more " * 60
        say(conversation, role, text, tokens=80)


def say(conversation: Conversation, role: str, text: str, *, tokens: int) -> None:
    last = conversation.messages.latest("created_at")
    Message.objects.create(
        conversation=conversation, role=role, content=text, token_count=tokens,
        created_at=last.created_at + timedelta(minutes=1),
    )  # fmt: skip


@pytest.mark.parametrize("strategy", ["checkpoints", "rolling", "continuation", "truncate"])
def test_the_button_says_what_would_be_left(large: Conversation, strategy: str) -> None:
    Conversation.objects.update(policy={"summariser": "extractive", "strategy": strategy, "recall": False})
    fill(large, 100)
    large.refresh_from_db()
    for _ in range(2):
        shown = meter(large)
        assert shown is not None and shown.left is not None
        compaction.request(large, trigger="manual", steering=Steering())
        after = used(large).total
        assert shown.left / 4 < after < shown.left * 1.5, "about"
        grow(large, to=8_000)
    Message.objects.all().delete()
    Checkpoint.objects.all().delete()


def test_nothing_to_compact_promises_nothing(large: Conversation) -> None:
    fill(large, 4)
    shown = meter(large)
    assert shown is not None
    assert (shown.left, shown.target) == (None, 40)


def test_what_a_compaction_leaves_before_the_passages_stays_byte_for_byte(large: Conversation) -> None:
    """A provider's cache serves the head and the tail of a request until the next compaction."""
    from conversations.context import prompt

    Conversation.objects.update(policy={"summariser": "extractive", "cooldown": 0})
    fill(large, 100)
    compaction.request(large, trigger="manual", steering=Steering(growth=0))
    seen: list[list[Any]] = []
    for number in range(5):
        say(large, "user", f"What was it with port 50{number}0?", tokens=20)
        messages = list(prompt.assemble(recall.load_for_request(large.pk)).messages)
        assert any("[Recalled Passages]" in str(one["content"]) for one in messages)
        seen.append([one for one in messages[:-1] if "[Recalled Passages]" not in str(one["content"])])
        say(large, "assistant", f"It was {number}.", tokens=10)
    for before, after in pairwise(seen):
        assert after[: len(before)] == before
