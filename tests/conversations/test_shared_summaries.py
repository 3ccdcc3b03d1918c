"""Chats and the gateway share their summaries: for equal histories of one person, and never what was undone, edited or
asked for otherwise.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compression.core.digest import extend_digest
from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, KeptSummary
from conversations.compaction import compaction, edit_summary, shared_states, trigger, undone
from conversations.compaction.shared_states import Asker
from conversations.context import goals
from conversations.context import settings as conversation_settings
from conversations.context.transcript import between
from conversations.exchange.imports import import_conversations
from conversations.gateway import checkpoints
from conversations.gateway.checkpoints import State
from conversations.gateway.compaction import TICK, compact_history
from conversations.gateway.history import History, parse_history
from conversations.models import Conversation, Message, ModelProfile
from conversations.turns import branches, conversations, forks
from tests.conversations.api import Api
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages
from tests.conversations.plans import plans
from tests.statements import through

Raw = dict[str, Any]
HEADINGS = "## Summary\n## Decisions\n## Files\n## State\n## Context"
OWN = "## Summary\nMy own words.\n\n## State\n- Done: all"
TAKEN = "taken over from a history that a program sent, without a request"


@pytest.fixture(autouse=True)
def one_request(profile: ModelProfile, settings: Any) -> None:
    """A window large enough that a summary takes one request: what is counted below are requests."""
    ModelProfile.objects.update(window=12_000)
    settings.COMPRESSION_COOLDOWN_SECONDS = 0


def said(count: int = 110, *, words: int = 40, part: str = "") -> list[Raw]:
    return [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"Message {part}{number} says port {5000 + number}. " + f"word{number} " * words,
        }
        for number in range(count)
    ]


def asks(messages: list[Raw], question: str = "And then?") -> History:
    return parse_history([*messages, {"role": "user", "content": question}])


def imported(owner: User, messages: list[Raw]) -> Conversation:
    (row,) = import_conversations(owner, json.dumps({"title": "T", "messages": messages}).encode())
    return row


async def chat_of(chat: Chat, messages: list[Raw], *, owner: User | None = None, **settings: Any) -> Chat:
    """A chat of alice, or of another person, with these messages."""
    row = await sync_to_async(imported)(owner or await User.objects.aget(username="alice"), messages)
    if settings:
        await sync_to_async(conversation_settings.change)(row, **settings)
    return replace(chat, conversation=row)


async def sent(chat: Chat, history: History) -> State | None:
    """What the gateway stores and compacts when alice's program sends a history that is too long."""
    owner, profile = await User.objects.aget(username="alice"), await ModelProfile.objects.aget()
    found = await sync_to_async(checkpoints.find_checkpoint)(owner.pk, history)
    return await compact_history(owner.pk, history, found, profile)


async def known(history: History, name: str = "alice") -> State | None:
    owner = await User.objects.aget(username=name)
    return await sync_to_async(checkpoints.find_checkpoint)(owner.pk, history)


async def rolled_back(row: Conversation) -> None:
    await sync_to_async(compaction.rollback)(row)


async def gateway_row() -> Conversation:
    return await Conversation.objects.aget(kind="gateway")


async def test_an_imported_history_takes_over_what_the_gateway_compacted(conversation: Any, chat: Chat) -> None:
    state = await sent(chat, asks(said()))
    assert state is not None and state.is_summary
    asked = len(chat.llm.summaries)
    assert asked
    here = await chat_of(chat, said())
    assert not here.conversation.is_compressed
    await here.say("And then?")
    await here.check()
    assert len(chat.llm.summaries) == asked
    assert here.conversation.compressed_context == state.context
    row = await Compaction.objects.aget(conversation=here.conversation)
    assert (row.trigger, row.status, row.summariser, row.strategy) == ("auto", "succeeded", "scripted", "checkpoints")
    assert [step["action"] for step in row.steps] == [TAKEN]
    assert (row.cost_usd, row.prompt_tokens, row.messages_condensed) == (0, 0, state.place)
    assert row.request_before > row.request_after and row.post_tokens < row.pre_tokens
    source, copy = [Checkpoint.objects.filter(conversation=id) for id in (state.conversation_id, row.conversation_id)]
    assert {one.digest async for one in source} == {one.digest async for one in copy}
    await here.say("And now?")
    await here.check()
    assert len(chat.llm.summaries) == asked


async def test_the_page_and_the_api_say_where_it_came_from(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    here = await chat_of(chat, said())
    await here.say("And then?")
    row = await Compaction.objects.aget(conversation=here.conversation)
    alice = await User.objects.aget()
    shown, told = await sync_to_async(lambda: (
        Pages(alice).get("compaction", row.conversation_id, row.pk).content.decode(),
        Api(alice).get(f"/api/context/{row.conversation_id}/compactions").content.decode(),
    ))()  # fmt: skip
    assert "Taken over from a history that a program sent, without a request." in shown
    assert TAKEN in told


async def test_undo_of_it_is_exact_and_it_does_not_come_back_by_any_way(conversation: Any, chat: Chat) -> None:
    chat.llm.enqueue_summary("## Summary\nPorts, badly.\n\n## State\n- Done: all")
    await sent(chat, asks(said()))
    here = await chat_of(chat, said())
    await here.say("And then?")
    assert "badly" in (await Conversation.objects.aget(pk=here.conversation.pk)).compressed_context
    await here.refresh()
    await rolled_back(here.conversation)
    await here.refresh()
    assert not here.conversation.is_compressed and not await KeptSummary.objects.aexists()
    asked = len(chat.llm.summaries)
    assert await known(asks(said())) is None, "the gateway does not hand out the original"
    other = await chat_of(chat, said())
    await sync_to_async(undone.resume)(here.conversation.pk)
    for one in (here, other):
        await one.say("so " * 300 + "What now?")
        await one.check()
        assert "badly" not in one.conversation.compressed_context
    assert len(chat.llm.summaries) > asked


async def test_what_was_undone_at_the_gateway_is_not_taken_over(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    await rolled_back(await gateway_row())
    asked = len(chat.llm.summaries)
    here = await chat_of(chat, said())
    await here.say("And then?")
    assert len(chat.llm.summaries) > asked


async def test_what_is_undone_in_a_chat_is_not_handed_out_by_its_fork(conversation: Any, chat: Chat) -> None:
    """The fork keeps its copy, as it is in force there; nobody else is given it."""
    here = await chat_of(chat, said())
    await here.compact()
    last = await Message.objects.filter(conversation=here.conversation).order_by("created_at").alast()
    assert last is not None
    copy = replace(chat, conversation=await sync_to_async(forks.fork)(here.conversation, last.pk))
    assert await known(asks(said())) is not None
    await rolled_back(here.conversation)
    assert await known(asks(said())) is None
    await copy.refresh()
    assert copy.conversation.is_compressed
    await copy.say("still here?")
    await copy.check()


async def test_what_was_made_anew_after_an_undo_is_shared(conversation: Any, chat: Chat) -> None:
    """Even in the same words: a selection of sentences always has the same."""
    here = await chat_of(chat, said())
    await here.compact()
    await rolled_back(here.conversation)
    assert await known(asks(said())) is None
    await here.compact()
    state = await known(asks(said()))
    assert state is not None
    texts = [one.summary async for one in Checkpoint.objects.filter(conversation=here.conversation)]
    assert len(texts) == 2 and len(set(texts)) == 1


async def test_redone_it_is_shared_again(conversation: Any, chat: Chat) -> None:
    here = await chat_of(chat, said())
    await here.compact()
    await rolled_back(here.conversation)
    recovery = await sync_to_async(here.conversation.snapshots.get)(purpose="recovery")
    await sync_to_async(compaction.rollback)(here.conversation, snapshot_id=recovery.pk)
    assert await known(asks(said())) is not None


async def test_a_deleted_conversation_hands_out_nothing_and_what_was_taken_over_stays(
    conversation: Any, chat: Chat
) -> None:
    await sent(chat, asks(said()))
    here = await chat_of(chat, said())
    await here.say("And then?")
    await sync_to_async(conversations.delete)(await gateway_row())
    await here.say("Still there?")
    await here.check()
    assert here.conversation.is_compressed
    await sync_to_async(conversations.delete)(here.conversation)
    assert not await Checkpoint.objects.aexists()
    assert not await KeptSummary.objects.aexists()
    assert await known(asks(said())) is None
    asked = len(chat.llm.summaries)
    assert (again := await sent(chat, asks(said()))) and again.is_summary
    assert len(chat.llm.summaries) > asked


async def test_what_a_chat_handed_on_stays_at_the_gateway_where_the_chat_is_deleted(
    conversation: Any, chat: Chat
) -> None:
    here = await chat_of(chat, said())
    await here.compact()
    longer = asks([*said(), *said(110, part="b")])
    assert (state := await sent(chat, longer)) is not None and state.is_summary
    await sync_to_async(conversations.delete)(here.conversation)
    assert await known(longer) == state
    row = await gateway_row()
    await sync_to_async(conversations.delete)(row)
    assert await known(longer) is None


@pytest.mark.parametrize("way", ["to the gateway", "to a chat"])
async def test_another_person_is_given_nothing(conversation: Any, chat: Chat, way: str) -> None:
    bob = await User.objects.acreate_user("bob")
    if way == "to the gateway":
        here = await chat_of(chat, said(), owner=bob)
        await here.compact()
        assert await known(asks(said())) is None
        assert await known(asks(said()), "bob") is not None
        return
    await sent(chat, asks(said()))
    asked = len(chat.llm.summaries)
    other = await chat_of(chat, said(), owner=bob)
    await other.say("And then?")
    assert len(chat.llm.summaries) > asked
    assert TAKEN not in str([row.steps async for row in Compaction.objects.filter(conversation=other.conversation)])


async def test_one_word_more_is_another_history(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    asked = len(chat.llm.summaries)
    messages = said()
    messages[3] = messages[3] | {"content": messages[3]["content"] + "not "}
    here = await chat_of(chat, messages)
    await here.say("And then?")
    await here.check()
    assert len(chat.llm.summaries) > asked


async def test_what_is_not_enough_is_gone_on_from(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    first = chat.llm.summaries[-1].text
    here = await chat_of(chat, [*said(), *said(110, part="b")])
    await here.say("And then?")
    await here.check()
    done = Compaction.objects.filter(conversation=here.conversation, status="succeeded").order_by("created_at")
    assert [len(row.steps) async for row in done] == [1, 0]
    assert "Message 3 says" in first
    assert all("Message 3 says" not in request.text for request in chat.llm.summaries[1:])


async def test_nothing_is_prepared_where_a_summary_is_there(conversation: Any, chat: Chat, settings: Any) -> None:
    settings.COMPRESSION_AHEAD = True
    await sent(chat, asks(said()))
    asked = len(chat.llm.summaries)
    here = await chat_of(chat, said(80))
    await Conversation.objects.filter(pk=here.conversation.pk).aupdate(policy={"threshold": 0.8, "cooldown": 0})
    other = await chat_of(chat, said(80, part="another "))
    await Conversation.objects.filter(pk=other.conversation.pk).aupdate(policy={"threshold": 0.8, "cooldown": 0})
    for one in (here, other):
        await one.say("so " * 700 + "Near?")
        await one.idle()
    prepared = [row.conversation_id async for row in Compaction.objects.filter(trigger="ahead")]
    assert prepared == [other.conversation.pk]
    assert len(chat.llm.summaries) == asked + 1


async def test_protected_messages_are_sent_beside_what_is_taken_over(conversation: Any, chat: Chat) -> None:
    messages = said()
    messages.insert(20, {"role": "system", "content": "From now on, say ahoy."})
    state = await sent(chat, asks(messages))
    assert state is not None and state.kept == (20,)
    asked = len(chat.llm.summaries)
    here = await chat_of(chat, messages)
    await Message.objects.filter(conversation=here.conversation, content__startswith="Message 7 ").aupdate(
        is_protected=True
    )
    await here.say("And then?")
    await here.refresh()
    assert len(chat.llm.summaries) == asked
    assert len(here.conversation.verbatim_ids) == 2
    text = chat.llm.last_request.text
    assert "From now on, say ahoy." in text and messages[7]["content"] in text
    assert messages[6]["content"] not in text


async def test_tool_calls_and_results_are_part_of_what_makes_histories_equal(conversation: Any, chat: Chat) -> None:
    def with_result(result: str) -> list[Raw]:
        call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        middle = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": result},
            {"role": "assistant", "content": "There."},
        ]
        return [*said(21), *middle, *said(90, part="b")]

    await sent(chat, asks(with_result("README.md")))
    asked = len(chat.llm.summaries)
    for result, is_taken in (("README.md", True), ("LICENSE", False)):
        here = await chat_of(chat, with_result(result))
        await here.say("And then?")
        await here.check()
        assert (len(chat.llm.summaries) == asked) is is_taken


async def _standard(chat: Chat) -> None:
    await chat.compact(quality="standard")


async def _instructions(chat: Chat) -> None:
    await chat.compact(instructions="keep ports")


async def _prompt(chat: Chat) -> None:
    await chat.compact(prompt=f"Otherwise.\n{HEADINGS}")


async def _edited(chat: Chat) -> None:
    await chat.compact()
    number = (await Checkpoint.objects.aget(conversation=chat.conversation, active=True)).number
    await sync_to_async(edit_summary.edit)(chat.conversation, number=number, text=OWN)


async def _provisional(chat: Chat) -> None:
    await chat.compact()
    await Checkpoint.objects.filter(conversation=chat.conversation).aupdate(provisional=True)


async def _mode(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(mode="developer")
    await chat.compact()


async def _strategy(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(policy={"strategy": "rolling"})
    await chat.compact()


async def _length(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(policy={"summary_max_tokens": 150})
    await chat.compact()


async def _rule(chat: Chat) -> None:
    await chat.compact()
    await sync_to_async(conversation_settings.change)(chat.conversation, rules=["Answer in French."])


async def _goal(chat: Chat) -> None:
    await chat.compact()
    await sync_to_async(goals.set_goal)(chat.conversation, description="Ship it")


OTHERWISE = [_standard, _instructions, _prompt, _edited, _provisional, _mode, _strategy, _length, _rule, _goal]


@pytest.mark.parametrize("made", OTHERWISE)
@pytest.mark.parametrize("is_later", [False, True], ids=["now", "after another compaction"])
async def test_what_was_asked_for_otherwise_stays_in_its_chat(
    conversation: Any, chat: Chat, made: Any, is_later: bool
) -> None:
    here = await chat_of(chat, said())
    await made(here)
    if is_later:
        await here.refresh()
        await sync_to_async(added)(here.conversation, said(60, part="c"))
        await here.compact()
    assert await known(asks(said())) is None
    other = await chat_of(chat, said())
    asked = len(chat.llm.summaries)
    await other.say("And then?")
    await other.check()
    assert len(chat.llm.summaries) > asked
    assert "My own words" not in other.conversation.compressed_context


def added(row: Conversation, messages: list[Raw]) -> None:
    """Messages at the end of a conversation, as turns leave them."""
    donor = imported(row.owner, messages)
    last = Message.objects.filter(conversation=row).latest("created_at").created_at
    for number, message in enumerate(Message.objects.filter(conversation=donor).order_by("created_at"), start=1):
        message.conversation, message.created_at = row, last + number * TICK
        message.save()
    donor.delete()


async def test_a_plain_chat_s_summary_is_shared_now_and_after_another_compaction(conversation: Any, chat: Chat) -> None:
    """The counterpart of the test above."""
    here = await chat_of(chat, said())
    await here.compact()
    state = await known(asks(said()))
    assert state is not None and state.conversation_id == here.conversation.pk and not state.is_current
    await sync_to_async(added)(here.conversation, said(60, part="c"))
    await here.compact()
    assert await known(asks(said())) == state
    asked = len(chat.llm.summaries)
    other = await chat_of(chat, said())
    await other.say("And then?")
    assert len(chat.llm.summaries) == asked


async def test_a_summary_an_administrator_asked_for_at_the_gateway_stays_there(conversation: Any, chat: Chat) -> None:
    """Of quality standard: a chat that asks for a fast one is not given it, and its own history still is."""
    state = await sent(chat, asks(said()))
    row = await gateway_row()
    await rolled_back(row)
    ask = replace(chat, conversation=row)
    assert (await ask.compact(quality="standard")).status == "succeeded"
    again = await known(asks(said()))
    assert again is not None and state is not None and again.conversation_id == state.conversation_id
    asked = len(chat.llm.summaries)
    here = await chat_of(chat, said())
    await here.say("And then?")
    assert len(chat.llm.summaries) > asked


@pytest.mark.parametrize("quality", ["fast", "standard"])
async def test_what_a_person_asks_for_by_hand_is_asked(conversation: Any, chat: Chat, quality: str) -> None:
    """Nothing is taken over in its place: the button asks for a summary of all but the latest messages."""
    await sent(chat, asks(said()))
    asked = len(chat.llm.summaries)
    here = await chat_of(chat, said())
    row = await here.compact(quality=quality)
    assert (row.status, row.steps) == ("succeeded", [])
    assert len(chat.llm.summaries) > asked


async def test_a_rule_that_came_since_is_seen_by_what_this_process_remembers(conversation: Any, chat: Chat) -> None:
    here, history = await chat_of(chat, said()), asks(said())
    await here.compact()
    alice = await User.objects.aget()
    assert await known(history) is not None
    assert await sync_to_async(checkpoints.known)(alice.pk, history) is not None
    await sync_to_async(conversation_settings.change)(here.conversation, rules=["Answer in French."])
    assert await sync_to_async(checkpoints.known)(alice.pk, history) is None


async def test_the_gateway_compacts_by_the_site_s_policy_whatever_the_chat_s(conversation: Any, chat: Chat) -> None:
    here = await chat_of(chat, said(), policy={"enabled": False, "keep_recent": 50})
    await here.compact()
    longer = asks([*said(), *said(110, part="b")])
    state = await sent(chat, longer)
    assert state is not None and state.place > 110
    row = await gateway_row()
    assert (row.policy, row.mode) == ({}, "assistant")
    await here.refresh()
    assert here.conversation.policy == {"enabled": False, "keep_recent": 50}


async def test_an_edit_before_the_cut_takes_the_summary_out_of_use(conversation: Any, chat: Chat) -> None:
    here = await chat_of(chat, said())
    await here.compact()
    third = await Message.objects.filter(conversation=here.conversation, content__startswith="Message 4 ").aget()
    begun = await sync_to_async(branches.edit)(here.conversation, third.pk, content="Other words.")
    await here.ended(begun.reply.pk)
    assert await known(asks(said())) is None


async def test_a_turn_that_is_not_due_looks_nothing_up(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    here = await chat_of(chat, said(20))
    ran: list[str] = []

    def listening(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        ran.append(sql)
        return execute(sql, params, many, context)

    async with through(listening):
        await trigger.ensure_room(here.conversation.pk)
        assert ran and not [sql for sql in ran if '"digest"' in sql]
        await trigger.ensure_room(here.conversation.pk, overflowed=True)
    assert [sql for sql in ran if '"digest"' in sql]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by what it counted")
def test_the_lookup_goes_by_the_digests_index_for_both(user: User, conversation: Conversation) -> None:
    digests = [extend_digest("", turn) for turn in [between(conversation.pk, None, conversation.created_at)]] * 3
    for kind in ("gateway", "chat"):
        with CaptureQueriesContext(connection) as ran:
            assert not shared_states.may_be_shared(Asker(user.pk, kind), digests)
        (plan,) = plans(ran)
        assert "checkpoint_by_digest" in plan


async def test_what_is_looked_up_takes_as_many_queries_for_any_number_of_forks(conversation: Any, chat: Chat) -> None:
    here = await chat_of(chat, said())
    await here.compact()
    last = await Message.objects.filter(conversation=here.conversation).order_by("created_at").alast()
    assert last is not None

    def queries() -> int:
        with CaptureQueriesContext(connection) as ran:
            assert checkpoints.find_checkpoint(here.conversation.owner_id, asks(said())) is not None
        return len(ran)

    before = await sync_to_async(queries)()
    for _ in range(5):
        await sync_to_async(forks.fork)(here.conversation, last.pk)
    assert await sync_to_async(queries)() == before == 2


async def test_two_turns_at_once_take_it_over_once(conversation: Any, chat: Chat) -> None:
    await sent(chat, asks(said()))
    here = await chat_of(chat, said())
    asked = len(chat.llm.summaries)
    await asyncio.gather(*(trigger.ensure_room(here.conversation.pk, overflowed=True) for _ in range(3)))
    rows = [row async for row in Compaction.objects.filter(conversation=here.conversation, status="succeeded")]
    assert [step["action"] for row in rows for step in row.steps].count(TAKEN) == 1
    assert len(chat.llm.summaries) - asked <= 1
    await here.say("And then?")
    await here.check()


def test_the_quality_that_crosses_is_what_nobody_asks_for_by_hand() -> None:
    assert shared_states.QUALITY == Steering().quality == "fast"
