"""Guards around transactions and leases that a small change could remove without another test noticing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import Http404, HttpResponse
from django.utils import timezone

from compression.core import pipeline
from compression.core.extractive.summariser import Extractive
from compression.core.tokens import count_tokens
from compression.core.values import Steering
from compression.models import Compaction
from conversations import links, projects
from conversations.compaction import compaction, lease, snapshots
from conversations.compaction.commit import commit
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.policy import policy_of
from conversations.errors import Refused
from conversations.gateway.history import PART_TOKENS, parse_history
from conversations.instructions import conversation_settings, goals
from conversations.memory import recall
from conversations.messages import attachments, protection
from conversations.models import Conversation, Message, ModelProfile, Project, User
from conversations.page.views.guard import member
from conversations.runtime.events import hub
from conversations.runtime.lease import LeaseLost
from conversations.turns import begin, branches, forks, message_queue
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


VANISHED = (Refused, Conversation.NotUpdated, Conversation.DoesNotExist, Message.DoesNotExist)
"""What views and the API answer with 404 or with the refusal's own status."""
CHANGES: dict[str, Callable[[Conversation, UUID], object]] = {
    "goal": lambda gone, _: goals.set_goal(gone, description="Ship it."),
    "settings": lambda gone, _: conversation_settings.change(gone, title="T", rules=["Say port."]),
    "undo": lambda gone, _: compaction.rollback(gone),
    "clear": lambda gone, _: snapshots.clear(gone),
    "snapshot": lambda gone, _: snapshots.take_snapshot(gone),
    "compaction": lambda gone, _: compaction.request(gone, trigger="manual", steering=Steering()),
    "link": lambda gone, _: links.make(gone, links.chosen({})),
    "file": lambda gone, _: attachments.upload(gone, name="a.txt", data=b"words"),
    "queue": lambda gone, _: message_queue.add(gone, content="Next.", shown=""),
    "question": lambda gone, _: begin.begin(gone, content="Now?"),
    "fork": lambda gone, message: forks.fork(gone, message),
    "edit": lambda gone, message: branches.edit(gone, message, content="Anew."),
    "regenerate": lambda gone, message: branches.regenerate(gone, message),
    "protect": lambda gone, message: protection.protect(gone, message, on=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_conversation_that_is_deleted_meanwhile_is_missing_and_nothing_is_stored_for_it(
    conversation: Conversation, change: str
) -> None:
    fill(conversation, 4)
    message = conversation.messages.latest("created_at").pk
    Conversation.objects.get(pk=conversation.pk).delete()
    with pytest.raises(VANISHED):
        CHANGES[change](conversation, message)
    assert not Conversation.objects.exists() and not Message.objects.exists()


def test_a_view_whose_conversation_or_project_is_deleted_meanwhile_answers_that_it_is_missing(
    conversation: Conversation, user: User, rf: Any
) -> None:
    def undone(*_: object) -> HttpResponse:
        Conversation.objects.filter(pk=conversation.pk).delete()
        snapshots.lock(conversation.pk)
        raise AssertionError

    def changed(*_: object) -> HttpResponse:
        project = Project.objects.create(owner=user, name="Ports")
        Project.objects.filter(pk=project.pk).delete()
        projects.change(project, name="Hosts")
        raise AssertionError

    request = rf.post("/")
    request.user = user
    for view in (undone, changed):
        with pytest.raises(Http404):
            member(view)(request)
