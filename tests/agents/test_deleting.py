"""A conversation that is deleted while its agent is at work: both end, and neither waits for the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from compression.core.values import Steering
from compression.models import Compaction
from conversations.agents import dispatch, runs
from conversations.agents.reply_scope import Work
from conversations.agents.tools.toolbox import Toolbox
from conversations.compaction import lease, snapshots
from conversations.context import transcript
from conversations.llm.tools import ToolRequest
from conversations.messages import replies
from conversations.messages.answer import Answer
from conversations.models import Conversation, Message
from conversations.runtime.lease import LeaseLost
from conversations.turns import conversations, recovery

ASKED = ToolRequest("1", "delegate_task", '{"task": "Add."}')


def begun(reply: Message) -> object:
    assert reply.lease_token
    return runs.begin(Work(reply.conversation_id, reply.lease_token, Toolbox(), reply.pk), "1", "Add.")


def called(reply: Message) -> object:
    assert reply.lease_token
    return replies.finish(Answer(reply.pk, calls=(ASKED,)), reply.lease_token, status="complete", tokens=9)


def broken_off(reply: Message) -> object:
    assert reply.lease_token
    also = partial(dispatch.abandon, reply.conversation_id)
    return replies.finish(Answer(reply.pk), reply.lease_token, status="stopped", tokens=9, also=also)


def given_up(reply: Message) -> object:
    return recovery.give_up(reply, status="stopped")


def condensed(reply: Message) -> object:
    """What a compaction of an executor's thread stores, in its order."""
    thread, row = Conversation.objects.get(parent=reply.conversation_id), Compaction.objects.get()
    with transaction.atomic():
        Conversation.objects.filter(pk=thread.pk).update(compression_version=1)
        snapshots.keep(transcript.head_of(thread.pk), "rollback")
        return lease.finish(row, "skipped")


@pytest.mark.parametrize("work", [begun, called, broken_off, given_up, condensed])
def test_a_deletion_waits_for_what_is_stored_just_then(
    conversation: Conversation, work: Callable[[Message], object]
) -> None:
    """Each takes the conversation before the reply; else the two wait for each other, until the database ends one."""
    pending, half = waiting(conversation), threading.Event()
    if work is condensed:
        begun(pending)
        lease.claim(Conversation.objects.get(kind="executor").pk, trigger="auto", steering=Steering())

    def slowly(reply: Message) -> object:
        with connection.execute_wrapper(halfway):
            return work(reply)

    def halfway(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """Hold what the first statement that locks has locked until a deletion waits for it."""
        result = execute(sql, params, many, context)
        if not half.is_set() and (sql.startswith("UPDATE") or sql.endswith("FOR UPDATE")):
            half.set()
            time.sleep(0.2)
        return result

    with ThreadPoolExecutor() as threads:
        working = threads.submit(closing, slowly, pending)
        assert half.wait(5)
        threads.submit(closing, conversations.delete, conversation).result()
        assert working.exception() is None or isinstance(working.exception(), LeaseLost)
    assert not Conversation.objects.exists() and not Message.objects.exists()


def waiting(conversation: Conversation) -> Message:
    """The reply that waits for a task which its planner has handed over."""
    with transaction.atomic():
        reply = replies.store_reply(conversation)
    ended = called(reply)
    assert isinstance(ended, tuple)
    following: Message = ended[1]
    return following


def closing(work: Callable[[Any], object], about: object) -> object:
    try:
        return work(about)
    finally:
        connection.close()
