"""Models on one's own machine: where they compress, who may say otherwise, and what is prepared before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Compaction
from conversations.compaction import trigger
from conversations.context import transcript
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.page.meter import meter
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.requests.test_seeing import words_of


@pytest.fixture
def local(conversation: Conversation) -> Conversation:
    """By its room it is due at 3,809 verbatim tokens of a window of 6,963: at about 57 %."""
    ModelProfile.objects.update(window=8_192, is_local=True)
    conversation.refresh_from_db()
    return conversation


def filled_to(conversation: Conversation, tokens: int) -> None:
    fill(conversation, 10, words=10)
    Message.objects.filter(conversation=conversation).update(token_count=tokens // 10)


def is_due(conversation: Conversation) -> bool:
    return trigger.is_due(transcript.load(conversation.pk))


def test_it_compresses_where_its_room_is_full_and_a_threshold_of_anybody_goes_before(
    local: Conversation, settings: Any
) -> None:
    filled_to(local, 4_200)
    assert is_due(local)
    settings.COMPRESSION_THRESHOLD = 0.8
    assert not is_due(local)
    settings.COMPRESSION_THRESHOLD = 0.5
    assert is_due(local)
    local.policy = {"threshold": 0.8}
    local.save()
    assert not is_due(local)


def test_page_and_api_say_where_and_why(local: Conversation, user: User, client: Any) -> None:
    filled_to(local, 1_000)
    told = Api(user).get(f"/api/conversations/{local.pk}/context").json()["compacts_at"]
    shown = meter(local)
    assert shown and told["reason"] == "local"
    assert 54 <= told["percent"] <= 70 and round(told["percent"]) == shown.threshold
    client.force_login(user)
    page = words_of(client.get(f"/c/{local.pk}/"))
    assert f"Summarises at {shown.threshold} %" in page and "three quarters of its room" in page
    panel = client.get(f"/c/{local.pk}/context", headers={"HX-Request": "true"})
    assert 'placeholder="automatic"' in panel.content.decode()
    Api(user).patch(f"/api/conversations/{local.pk}", {"policy": {"threshold": 0.7}})
    told = Api(user).get(f"/api/conversations/{local.pk}/context").json()["compacts_at"]
    assert told == {"tokens": 4_874, "percent": 70.0, "reason": "threshold"}
    page = words_of(client.get(f"/c/{local.pk}/"))
    assert "Summarises at 70 %" in page and "three quarters" not in page
    Api(user).patch(f"/api/conversations/{local.pk}", {"policy": {"enabled": False}})
    assert Api(user).get(f"/api/conversations/{local.pk}/context").json()["compacts_at"] is None


async def test_its_summary_is_prepared_before_its_room_is_full(local: Conversation, chat: Chat, settings: Any) -> None:
    settings.COMPRESSION_AHEAD = True
    await sync_to_async(filled_to)(local, 3_300)
    assert not await sync_to_async(is_due)(local)
    await chat.say("and now?")
    async with asyncio.timeout(10):
        while not await Compaction.objects.filter(trigger="ahead", status="ready").aexists():
            await asyncio.sleep(0.02)
