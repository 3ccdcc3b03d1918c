"""A conversation that is deleted while its agent is at work: both end, and neither waits for the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from django.db import connection, transaction

from compression.core.values import Steering
from conversations.agents import dispatch, runs
from conversations.agents.reply_scope import LeaseLost, Work
from conversations.agents.tools.toolbox import Toolbox
from conversations.compaction import lease, snapshots
from conversations.context import transcript
from conversations.llm.tools import ToolRequest
from conversations.messages import replies, tool_calls
from conversations.messages.answer import Answer
from conversations.models import Conversation, Message
from conversations.turns import conversations, recovery, stop

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
    thread = Conversation.objects.get(parent=reply.conversation_id)
    row = lease.claim(thread.pk, trigger="auto", steering=Steering())
    with transaction.atomic():
        Conversation.objects.filter(pk=thread.pk).update(compression_version=1)
        snapshots.keep(transcript.head_of(thread.pk), "rollback")
        return lease.finish(row, "skipped")


@pytest.mark.parametrize(
    ("work", "module", "name"),
    [
        (begun, runs, "close"),
        (called, tool_calls, "store"),
        (broken_off, dispatch, "abandon"),
        (given_up, dispatch, "abandon"),
        (condensed, snapshots, "keep"),
    ],
)
def test_a_deletion_waits_for_what_is_stored_just_then(
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Message], object],
    module: ModuleType,
    name: str,
) -> None:
    """Each takes the conversation before the reply; else the two wait for each other, until the database ends one."""
    pending, half = waiting(conversation), threading.Event()
    if work is condensed:
        begun(pending)
    go_on = getattr(module, name)

    def slowly(*args: Any) -> Any:
        half.set()
        time.sleep(0.2)
        return go_on(*args)

    monkeypatch.setattr(module, name, slowly)
    monkeypatch.setattr(stop, "stop", lambda _: True)  # its worker is of this process, and is told
    with ThreadPoolExecutor() as threads:
        working = threads.submit(closing, work, pending)
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
