"""A fault at each single write of a verb leaves the database as it was before it: all of it is stored, or nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.db import OperationalError, connection

from compression import conf
from compression.core import pipeline
from compression.core.extractive.summariser import Extractive
from compression.core.tokens import count_tokens
from compression.core.values import Steering
from compression.ids import uuid7
from compression.models import Compaction
from conversations.compaction import commit as compaction_commit
from conversations.compaction import compaction, lease, snapshots
from conversations.context import transcript
from conversations.context.transcript import Loaded
from conversations.errors import Refused
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.instructions import goals
from conversations.messages import replies
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, User
from conversations.ops import backups
from conversations.runtime import queue
from conversations.turns import branches, conversations, forks, turn, versions
from tests.conversations.chat import fill

WRITE = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
MOST_WRITES = 200
"""Writes that a verb may need here; more would mean that it writes a row at a time."""


class DiskFull(OperationalError):
    """What a database raises where it cannot write."""


@contextmanager
def failing_at(number: int) -> Iterator[list[str]]:
    """Statements that write, of this thread: the one of this number (from 0) fails. Gives those that were let pass."""
    passed: list[str] = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITE.match(sql):
            if len(passed) == number:
                raise DiskFull("database or disk is full")
            passed.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield passed


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """Everything that is stored by the product, in an order of its own."""
    models = [*apps.get_app_config("conversations").get_models(), *apps.get_app_config("compression").get_models()]
    return {model.__name__: sorted(model.objects.values_list(), key=repr) for model in models}


def half_written(verb: Callable[[], object]) -> int:
    """Let each write of the verb fail in turn; how many there are. The verb is carried out whole at the end."""
    before = rows()
    for number in range(MOST_WRITES):
        with failing_at(number) as passed:
            try:
                verb()
            except (DiskFull, Refused) as fault:
                assert isinstance(fault, DiskFull) or isinstance(fault.__cause__, DiskFull)
                assert rows() == before, f"write {number + 1} failed, and what was written before it stayed: {passed}"
            else:
                assert rows() != before, "the verb changed nothing"
                return len(passed)
    raise AssertionError(f"the verb still fails after {MOST_WRITES} writes")


@pytest.fixture(autouse=True)
def work_waits() -> Iterator[None]:
    """What a verb enqueues is no part of it: the server's loop, which would do it, does not run."""
    loop = asyncio.new_event_loop()
    queue.attach(loop)
    yield
    queue.attach(None)
    loop.close()


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    goals.set_goal(conversation, description="Ship it")
    return conversation


@pytest.fixture
def compacted(filled: Conversation) -> Conversation:
    commit(filled)()
    filled.refresh_from_db()
    return filled


def commit(conversation: Conversation) -> Callable[[], None]:
    """The end of a compaction, which was computed already, as its worker carries it out."""
    row = lease.claim(conversation.pk, trigger="manual", steering=Steering())
    started = lease.start(row.pk, uuid7())
    assert started is not None
    loaded: Loaded = transcript.load(conversation.pk)

    async def no_stage(stage: str, percent: int) -> None:
        return None

    draft = async_to_sync(pipeline.compact)(
        compaction.source(loaded, rebuild=False),
        conf.policy({}),
        steering=Steering(),
        summariser=Extractive(),
        count=count_tokens,
        on_stage=no_stage,
    )

    def put_in_force() -> None:
        # As its worker has it each time: what is set on the row of a transaction that failed is not stored.
        compaction_commit.commit(Compaction.objects.get(pk=row.pk), loaded.head, draft, summariser="extractive")

    return put_in_force


def last(conversation: Conversation, role: str) -> Message:
    found = Message.objects.filter(conversation=conversation, role=role, replaced_by=None).order_by("-created_at")
    message = found.first()
    assert message is not None
    return message


def test_a_compaction_is_put_in_force_whole_or_not_at_all(filled: Conversation) -> None:
    assert half_written(commit(filled)) >= 4  # conversation, snapshot, checkpoint, row
    assert Conversation.objects.get(pk=filled.pk).compressed_at is not None


def test_an_import_is_stored_whole_or_not_at_all(user: User) -> None:
    moment = datetime(2025, 1, 6, 9, tzinfo=UTC)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Always answer in French."},
        {"role": "assistant", "content": "Bien.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]
    for at, message in enumerate(messages):
        message["created_at"] = (moment + timedelta(minutes=at)).isoformat()
    payload = json.dumps([{"title": "One", "messages": messages}, {"title": "Two", "messages": messages}]).encode()
    assert half_written(lambda: import_conversations(user, payload)) >= 3
    assert Conversation.objects.count() == 2


def test_an_import_with_its_compactions_is_restored_whole_or_not_at_all(user: User, compacted: Conversation) -> None:
    payload = json.dumps(as_json(compacted), cls=DjangoJSONEncoder).encode()
    assert half_written(lambda: import_conversations(user, payload)) >= 4


VERBS: dict[str, Callable[[Conversation], Callable[[], object]]] = {
    "a message": lambda own: lambda: turn.begin(own, content="What was port 3?", client_id="once"),
    "a message with a rule": lambda own: lambda: turn.begin(own, content="Always answer in French."),
    "a fork": lambda own: lambda: forks.fork(own, last(own, "assistant").pk),
    "a fresh start": lambda own: lambda: forks.fresh(own),
    "an edit": lambda own: lambda: branches.edit(own, last(own, "user").pk, content="Something else"),
    "an edit of what is summarised": lambda own: (
        lambda: branches.edit(own, Message.objects.order_by("created_at")[2].pk, content="Something else")
    ),
    "a reply anew": lambda own: lambda: branches.regenerate(own, last(own, "assistant").pk),
    "an undo": lambda own: lambda: snapshots.rollback(own),
    "a clearing": lambda own: lambda: snapshots.clear(own),
    "a pin": lambda own: lambda: protect(own, Message.objects.order_by("created_at")[3].pk, on=True),
    "a goal": lambda own: lambda: goals.set_goal(own, description="Ship it twice"),
    "a deletion": lambda own: lambda: conversations.delete(own),
}


@pytest.mark.parametrize("name", VERBS)
def test_what_a_person_does_is_stored_whole_or_not_at_all(compacted: Conversation, name: str) -> None:
    verb = VERBS[name](compacted)

    def as_read() -> object:
        compacted.refresh_from_db()  # a request that failed reads its conversation anew
        return verb()

    assert half_written(as_read) >= 1


def test_trying_again_is_stored_whole_or_not_at_all(compacted: Conversation) -> None:
    reply = last(compacted, "assistant")
    Message.objects.filter(pk=reply.pk).update(status=Message.Status.FAILED)
    assert half_written(lambda: replies.retry(compacted, reply.pk)) >= 2


def test_another_version_is_taken_up_whole_or_not_at_all(compacted: Conversation) -> None:
    edited = branches.edit(compacted, last(compacted, "user").pk, content="Something else").question
    Message.objects.filter(status=Message.Status.STREAMING).update(status=Message.Status.COMPLETE, lease_token=None)

    def use() -> object:
        compacted.refresh_from_db()
        return versions.use(compacted, edited.pk, number=1)

    assert half_written(use) >= 2


@pytest.mark.long
def test_a_backup_is_restored_whole_or_not_at_all(compacted: Conversation) -> None:
    file = BytesIO()
    backups.to_stream(file)

    def restore() -> object:
        file.seek(0)
        return backups.restore(file, replace=True)

    Conversation.objects.filter(pk=compacted.pk).update(title="Changed since")
    assert half_written(restore) >= 4
