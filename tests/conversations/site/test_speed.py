"""The work of a turn does not grow with the conversation: how many queries, and that each seeks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.compaction import trigger
from conversations.context import prompt, transcript
from conversations.models import Conversation, Message, ToolCall
from conversations.requests.usage import usage_of
from conversations.turns import begin, recovery
from tests.conversations.chat import START, fill
from tests.conversations.plans import plans


def prepare(conversation: Conversation) -> None:
    loaded = transcript.load(conversation.pk)
    assert usage_of(loaded) is not None
    assert not trigger.is_due(loaded)
    assert prompt.assemble(loaded).messages


def cut_after(conversation: Conversation, number: int) -> None:
    row = Message.objects.get(conversation=conversation, content__startswith=f"Message {number} ")
    conversation.compressed_at, conversation.compressed_context = row.created_at, "a summary"
    conversation.save()


@pytest.mark.parametrize("count", [20, 2_000])
def test_a_turns_context_takes_two_queries_whatever_the_length(
    conversation: Conversation, django_assert_num_queries: Any, count: int
) -> None:
    fill(conversation, count, words=5)
    cut_after(conversation, count - 10)
    prepare(conversation)
    with django_assert_num_queries(2):
        prepare(conversation)


def test_kept_messages_cost_one_query_more(conversation: Conversation, django_assert_num_queries: Any) -> None:
    fill(conversation, 40, protected=(1, 2))
    cut_after(conversation, 30)
    conversation.verbatim_ids = [str(row.pk) for row in Message.objects.filter(is_protected=True)]
    conversation.save()
    with django_assert_num_queries(3):
        loaded = transcript.load(conversation.pk)
    assert len(loaded.kept) == 2
    assert len(loaded.live) == 9


def test_the_queries_of_a_turn_seek_and_never_scan(conversation: Conversation) -> None:
    fill(conversation, 4_000, words=5)
    cut_after(conversation, 3_990)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as ran:
        prepare(conversation)
        begun = begin.begin(conversation, content="and now?")
        begun.reply.refresh_from_db()  # where there is no server, what is enqueued runs at once
        assert begun.reply.status == "complete"
        assert recovery.sweep() == 0
    found = plans(ran, of=("SELECT", "UPDATE"))
    assert len(found) > 4
    for plan in found:
        # The index of replies in the making holds these alone: reading all of it is no scan of the messages.
        scanned = plan.replace("SCAN conversations_message USING INDEX one_reply_at_a_time", "")
        assert "SCAN conversations_message" not in scanned, plan
        assert "Seq Scan on conversations_message" not in scanned, plan


def test_prepared_queries_read_what_the_orm_reads(conversation: Conversation) -> None:
    fill(conversation, 6)
    answer = Message.objects.get(content__startswith="Message 3 ")
    for number in range(2):
        ToolCall.objects.create(
            message=answer, call_id=f"call{number}", name="grep", arguments="{}", result="found", created_at=START
        )
    loaded = transcript.load(conversation.pk)
    assert loaded.turns == transcript.between(conversation.pk, None, datetime(2100, 1, 1, tzinfo=UTC))
    assert [use.call_id for use in loaded.turns[3].tools] == ["call0", "call1"]
    head = loaded.head
    assert head.id == conversation.pk
    assert head.is_compacting is False
    assert head.verbatim_ids == []
    cut_after(conversation, 2)
    assert [turn.content.split()[1] for turn in transcript.load(conversation.pk).live] == ["3", "4", "5"]
    assert transcript.head_of(conversation.pk).compressed_at == loaded.turns[2].created_at
