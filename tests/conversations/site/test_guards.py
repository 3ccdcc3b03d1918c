"""Guards around transactions and leases that a small change could remove without another test noticing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from compression.core import pipeline
from compression.core.extractive.summariser import Extractive
from compression.core.tokens import count_tokens
from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction, lease
from conversations.compaction.commit import commit
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.policy import policy_of
from conversations.gateway.history import PART_TOKENS, parse_history
from conversations.memory import recall
from conversations.messages import protection
from conversations.models import Conversation, Message, ModelProfile
from conversations.runtime.events import hub
from conversations.runtime.lease import LeaseLost
from tests.conversations.chat import Chat, fill


class Undone(Exception):
    """Rolls a transaction back."""


def started(conversation: Conversation) -> Compaction:
    claimed = lease.claim(conversation.pk, trigger="manual", steering=Steering())
    row = lease.start(claimed.pk, claimed.lease_token)
    assert row is not None
    return row


def test_a_compaction_whose_lease_was_renewed_meanwhile_is_not_given_up(conversation: Conversation) -> None:
    row = started(conversation)
    Compaction.objects.filter(pk=row.pk).update(lease_expires_at=timezone.now() + timedelta(seconds=90))
    with pytest.raises(LeaseLost):
        lease.finish(row, Compaction.Status.FAILED, among=lease.unchanged(row), error="abandoned")
    assert Compaction.objects.get(pk=row.pk).is_active


async def test_an_end_that_is_rolled_back_is_told_to_nobody(conversation: Conversation, chat: Chat) -> None:
    row = await sync_to_async(started)(conversation)
    with hub.listen(conversation.pk) as listener:

        def ended() -> None:
            with pytest.raises(Undone), transaction.atomic():
                lease.finish(row, Compaction.Status.SUCCEEDED)
                raise Undone

        await sync_to_async(ended)()
        await asyncio.sleep(0)  # what was published meanwhile is there now
        assert listener.queue.qsize() == 0
    assert (await Compaction.objects.aget(pk=row.pk)).is_active


def test_no_task_begins_before_its_row_is_committed(conversation: Conversation) -> None:
    fill(conversation, 20)
    with pytest.raises(Undone), transaction.atomic():
        row = compaction.request(conversation, trigger="manual", steering=Steering())
        assert Compaction.objects.get(pk=row.pk).status == "pending"
        raise Undone
    assert not Compaction.objects.exists()
    row = compaction.request(conversation, trigger="manual", steering=Steering())
    assert Compaction.objects.get(pk=row.pk).status == "succeeded"


def test_recall_takes_no_more_than_the_room_that_is_left(conversation: Conversation) -> None:
    ModelProfile.objects.update(window=8_000, is_local=False)
    Conversation.objects.update(policy={"summariser": "extractive", "recall_share": 0.5})
    fill(conversation, 60)
    conversation.refresh_from_db()
    compaction.request(conversation, trigger="manual", steering=Steering())
    last = conversation.messages.latest("created_at")
    for more in (0, 5_200, 5_600, 6_400):
        Message.objects.filter(pk=last.pk).update(token_count=100 + more, content="Which port has message 7, word7?")
        Message.objects.filter(pk=last.pk).update(role="user")
        loaded = recall.load_for_request(conversation.pk)
        used = loaded.usage(system_tokens=60)
        assert used is not None and (used.recalled == 0 or not used.over_budget)


def test_what_was_protected_while_it_was_summarised_is_not_summarised_away(conversation: Conversation) -> None:
    fill(conversation, 20)
    loaded, first = transcript.load(conversation.pk), conversation.messages.earliest("created_at")
    row = started(conversation)
    draft = asyncio.run(
        pipeline.compact(
            compaction.source(loaded, rebuild=False),
            policy_of(loaded.head),
            steering=Steering(),
            summariser=Extractive(),
            count=count_tokens,
            on_stage=_ignored,
        )
    )
    assert first.pk in {UUID(turn.id) for turn in draft.condensed}
    protection.protect(conversation, first.pk, on=True)
    with suppress(Superseded):
        commit(row, loaded.head, draft, summariser="extractive")
    assert first.content in [turn.content for turn in transcript.load(conversation.pk).turns]


async def _ignored(stage: str, percent: int) -> None:
    assert stage and percent


def test_results_that_were_left_out_stay_out_after_a_compaction(conversation: Conversation) -> None:
    fill(conversation, 20)
    last = conversation.messages.latest("created_at")
    Conversation.objects.update(elided={str(last.pk): [40, 20]})
    conversation.refresh_from_db()
    compaction.request(conversation, trigger="manual", steering=Steering())
    conversation.refresh_from_db()
    assert conversation.is_compressed and conversation.elided == {str(last.pk): [40, 20]}


def test_an_image_in_a_tool_s_result_has_its_cost() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}

    def tokens(*parts: dict[str, Any]) -> int:
        result = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "Here."}, *parts]}
        return parse_history([{"role": "assistant", "content": None, "tool_calls": [call]}, result]).tokens

    assert tokens(image) >= tokens() + PART_TOKENS
