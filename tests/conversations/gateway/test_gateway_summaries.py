"""The gateway's stored summaries: for equal histories of one person, and never after an undo."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compression.models import Checkpoint, KeptSummary
from conversations.compaction import compaction
from conversations.gateway import checkpoints, summaries
from conversations.gateway.call_log import Call
from conversations.gateway.checkpoints import State
from conversations.gateway.compaction import compact_history
from conversations.gateway.fit_history import with_room
from conversations.gateway.history import History, parse_history
from conversations.gateway.request import parse_request
from conversations.models import ApiKey, Conversation, Message, ModelProfile, User
from conversations.turns import conversations, forks
from tests.conversations.chat import Chat, fill
from tests.conversations.plans import plans

Raw = dict[str, Any]


@pytest.fixture(autouse=True)
def one_request(profile: ModelProfile, settings: Any) -> None:
    """A window large enough that a summary takes one request."""
    ModelProfile.objects.update(window=12_000)
    settings.COMPRESSION_COOLDOWN_SECONDS = 0


def said(count: int = 110, *, words: int = 40, result: str = "") -> list[Raw]:
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"Message {number} says port {5000 + number}. " + f"word{number} " * words,
        }
        for number in range(count)
    ]
    if result:
        call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        middle = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]
        messages[21:21] = middle
    return messages


def asks(messages: list[Raw], question: str = "And then?") -> History:
    return parse_history([*messages, {"role": "user", "content": question}])


async def sent(history: History) -> State | None:
    """The state after alice's program has sent a history that is too long."""
    owner, profile = await User.objects.aget(username="alice"), await ModelProfile.objects.aget()
    found = await sync_to_async(checkpoints.find_checkpoint)(owner.pk, history)
    return await compact_history(owner.pk, history, found, profile)


async def known(history: History, name: str = "alice") -> State | None:
    owner = await User.objects.aget(username=name)
    return await sync_to_async(checkpoints.find_checkpoint)(owner.pk, history)


async def gateway_row() -> Conversation:
    return await Conversation.objects.aget(kind="gateway")


async def test_equal_histories_share_a_summary_and_others_do_not(conversation: Any, chat: Chat) -> None:
    state = await sent(asks(said(result="README.md")))
    assert state is not None and state.is_summary
    assert await known(asks(said(result="README.md"), "Another question?")) == state
    assert await known(asks(said(result="LICENSE"))) is None
    changed = said(result="README.md")
    changed[3] |= {"content": changed[3]["content"] + "more"}
    assert await known(asks(changed)) is None
    await User.objects.acreate_user("bob")
    assert await known(asks(said(result="README.md")), "bob") is None


async def test_an_undone_summary_is_not_used_and_a_restored_one_is(conversation: Any, chat: Chat) -> None:
    await sent(asks(said()))
    row = await gateway_row()
    alice = await User.objects.aget(username="alice")
    assert await known(asks(said())) is not None
    assert await sync_to_async(checkpoints.known)(alice.pk, asks(said())) is not None
    await sync_to_async(compaction.rollback)(row)
    assert await known(asks(said())) is None
    assert await sync_to_async(checkpoints.known)(alice.pk, asks(said())) is None
    recovery = await sync_to_async(row.snapshots.get)(purpose="recovery")
    await sync_to_async(compaction.rollback)(row, snapshot_id=recovery.pk)
    assert await known(asks(said())) is not None


async def test_an_undone_summary_is_not_handed_out_by_a_copy(conversation: Any, chat: Chat) -> None:
    await sent(asks(said()))
    row = await gateway_row()
    last = await Message.objects.filter(conversation=row).order_by("created_at").alast()
    assert last is not None
    await sync_to_async(forks.fork)(row, last.pk, kind=Conversation.Kind.GATEWAY)
    await sync_to_async(compaction.rollback)(row)
    assert await known(asks(said())) is None


async def test_a_deleted_conversation_leaves_nothing(conversation: Any, chat: Chat) -> None:
    await sent(asks(said()))
    await sync_to_async(conversations.delete)(await gateway_row())
    assert not await Checkpoint.objects.aexists() and not await KeptSummary.objects.aexists()
    asked = len(chat.llm.summaries)
    assert (again := await sent(asks(said()))) and again.is_summary
    assert len(chat.llm.summaries) > asked


async def test_a_chat_s_summary_stays_in_its_chat(conversation: Any, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 110)
    await chat.compact()
    rows = [one async for one in conversation.messages.order_by("created_at")]
    assert await known(asks([{"role": row.role, "content": row.content} for row in rows])) is None


async def test_the_lookup_takes_as_many_queries_for_any_number_of_copies(conversation: Any, chat: Chat) -> None:
    await sent(asks(said()))
    row = await gateway_row()
    last = await Message.objects.filter(conversation=row).order_by("created_at").alast()
    assert last is not None

    def queries() -> int:
        with CaptureQueriesContext(connection) as ran:
            assert checkpoints.find_checkpoint(row.owner_id, asks(said())) is not None
        return len(ran)

    before = await sync_to_async(queries)()
    for _ in range(5):
        await sync_to_async(forks.fork)(row, last.pk, kind=Conversation.Kind.GATEWAY)
    assert await sync_to_async(queries)() == before == 2


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by what it counted")
def test_the_lookup_goes_by_the_digests_index(user: User) -> None:
    with CaptureQueriesContext(connection) as ran:
        assert list(summaries.covering(user.pk, ["a", "b", "c"])) == []
    (plan,) = plans(ran)
    assert "checkpoint_by_digest" in plan


@pytest.mark.parametrize("factors", [(1.05, 1.0), (1.0, 1.05)])
async def test_a_request_is_measured_as_it_was_fitted(conversation: Any, factors: tuple[float, float]) -> None:
    """An earlier call's answer may correct the token count after a call was read, and before its history is fitted."""
    before, after = factors
    await ModelProfile.objects.aupdate(token_correction=before)
    call = {"id": "a", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read the file."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "word " * 40_000},
    ]
    owner = await User.objects.aget(username="alice")
    asked = await sync_to_async(parse_request)(json.dumps({"messages": messages}), owner_id=owner.pk)
    await ModelProfile.objects.aupdate(token_correction=after)
    state = await with_room(asked, None, Call(ApiKey(user=owner)))
    assert 0.97 < asked.usage(state).total / asked.window.budget <= 1
    assert "left out here" in asked.forwarded(state)["messages"][-1]["content"]
