"""What a compaction by hand frees: what is compacted takes at most a third of its tokens in every later request."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction
from conversations.compaction import compaction
from conversations.memory import recall
from conversations.models import Conversation, ModelProfile, User
from conversations.page.meter import meter
from conversations.page.thread import shown_messages
from conversations.requests import usage
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.compaction.test_slope import grow, say
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once
SIZES = {8_000: (16, 45), 60_000: (100,), 128_000: (16, 270)}
"""Numbers of messages of about 110 tokens, by window: 1,700 to 29,000 tokens."""
SWEEP = [(window, number) for window, numbers in SIZES.items() for number in numbers]


@pytest.mark.parametrize(("window", "number"), SWEEP)
def test_summary_and_recall_take_a_third_at_most(conversation: Conversation, window: int, number: int) -> None:
    ModelProfile.objects.update(window=window, is_local=False)
    Conversation.objects.update(policy={"summariser": "extractive", "cooldown": 0})
    fill(conversation, number)
    conversation.refresh_from_db()
    for _ in range(2):
        shown, before = meter(conversation), total(conversation)
        compaction.request(conversation, trigger="manual", steering=Steering())
        after = total(conversation)
        assert shown is not None and shown.left is not None
        assert after < before and abs(shown.left - after) < max(0.1 * after, 100), (before, after, shown.left)
        for asked in range(3):
            say(conversation, "user", f"What was it with port 50{asked}3, and with word{asked}4?", tokens=20)
            assert share_taken(conversation) <= 1 / 3
            say(conversation, "assistant", f"It was {asked}.", tokens=10)
        grow(conversation, to=total(conversation) + 1_600)


@pytest.mark.parametrize(("window", "number"), SWEEP)
async def test_the_same_with_a_model_that_writes_too_much(
    conversation: Conversation, chat: Chat, window: int, number: int
) -> None:
    await ModelProfile.objects.aupdate(window=window, is_local=False)
    await sync_to_async(fill)(conversation, number)
    await chat.refresh()
    chat.llm.enqueue(LONG)
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "scripted"), row.steps
    await sync_to_async(say)(conversation, "user", "What was it with port 5003, and with word4?", tokens=20)
    assert await sync_to_async(share_taken)(conversation) <= 1 / 3
    assert row.request_after < row.request_before


LONG = (
    "## Summary\nPorts were assigned to numbered messages, one after the other.\n\n## Decisions\n"
    + "\n".join(f"- Message {number} says port {5000 + number}: word{number} stands for it." for number in range(400))
    + "\n\n## Files\n-\n\n## State\nDone: ports\n\n## Context\nport=5000"
)


@pytest.mark.parametrize("summariser", ["extractive", "scripted"])
@pytest.mark.parametrize("strategy", ["checkpoints", "rolling"])
async def test_a_set_length_binds_every_summary_kept_facts_included(
    conversation: Conversation, chat: Chat, summariser: str, strategy: str
) -> None:
    policy = {"summary_max_tokens": 300, "summariser": summariser, "strategy": strategy, "cooldown": 0}
    await ModelProfile.objects.aupdate(window=60_000, is_local=False)
    await Conversation.objects.aupdate(policy=policy)
    await sync_to_async(fill)(conversation, 100)
    await chat.refresh()
    for _ in range(3):
        chat.llm.enqueue(LONG)
        row = await chat.compact()
        assert (row.status, row.summariser) == ("succeeded", summariser), row.steps
        await sync_to_async(grow)(conversation, to=await sync_to_async(total)(conversation) + 3_000)
    async for one in Checkpoint.objects.filter(conversation=conversation):
        assert one.token_count <= 300


def test_recall_has_a_ceiling_in_the_model_s_tokens(conversation: Conversation) -> None:
    ModelProfile.objects.update(window=200_000, is_local=False, token_correction=1.25)
    Conversation.objects.update(policy={"summariser": "extractive", "recall_max_tokens": 900})
    fill(conversation, 200)
    conversation.refresh_from_db()
    compaction.request(conversation, trigger="manual", steering=Steering())
    say(conversation, "user", "What of word3, word4, word5, word6, word7, word8, word9 and word10?", tokens=20)
    used = usage.usage_of(recall.load_for_request(conversation.pk))
    assert used is not None and 500 < used.recalled <= 900


async def test_figures_of_one_run_agree(conversation: Conversation, chat: Chat, user: User) -> None:
    await sync_to_async(fill)(conversation, 40)
    await chat.refresh()
    row = await chat.compact()
    result = await sync_to_async(lambda: Api(user).get(f"/api/tasks/{row.pk}/progress").json()["result"])()
    assert result["reduction_percent"] == round(100 * (1 - result["post_tokens"] / result["pre_tokens"]), 1)
    assert result["summary_reduction_percent"] == row.reduction_percent


def test_the_button_says_before_it_is_pressed_what_it_frees(conversation: Conversation) -> None:
    fill(conversation, 40)
    conversation.refresh_from_db()
    shown = meter(conversation)
    assert shown is not None and shown.left is not None
    assert shown.frees == shown.used - shown.left > 0 and not shown.frees_little
    compaction.request(conversation, trigger="manual", steering=Steering())
    assert Compaction.objects.get().status == "succeeded"
    shown = meter(conversation)
    assert shown is not None and shown.frees == 0 and shown.left is None


def test_a_page_that_comes_back_asks_for_what_compact_frees_once_it_is_seen(
    conversation: Conversation, user: User
) -> None:
    """Half of the time of a page's fetch would go to a figure that nobody looks at, when a thousand pages come back."""
    pages = Pages(user)
    fill(conversation, 40)
    version = shown_messages(conversation).version
    say(conversation, "assistant", "Written while the page was away.", tokens=20)
    address = reverse("meter", args=[conversation.pk])
    fetched = pages.get("thread", conversation.pk, htmx=True, version=version).content.decode()
    assert "Written while the page was away." in fetched and "frees" not in fetched.replace('id="frees"', "")
    assert fetched.count(f'hx-get="{address}" hx-trigger="intersect"') == 2, "beside Compact and in the meter"
    asked = pages.get("meter", conversation.pk).content.decode()
    assert "frees about" in asked and address not in asked


def total(conversation: Conversation) -> int:
    used = usage.usage_of(recall.load(conversation.pk))
    assert used is not None
    return used.total


def share_taken(conversation: Conversation) -> float:
    """What summaries and recalled passages take of the tokens of the messages that they stand for."""
    loaded = recall.load_for_request(conversation.pk)
    recalled = loaded.recalled.tokens if loaded.recalled else 0
    return (loaded.head.compressed_tokens + recalled) / loaded.head.covered_tokens
