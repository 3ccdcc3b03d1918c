"""Over the budget although it was compressed: what is done then, that it is told, and that it can be taken back."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse

from compression.core.values import ToolUse
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction, emergency, trigger
from conversations.context import transcript
from conversations.context.elisions import elision
from conversations.context.transcript import ORPHAN, tool_tokens, truncated, without_results
from conversations.errors import TooLarge
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile, ToolCall
from conversations.requests import usage
from conversations.turns import turn
from tests.conversations.chat import START, Chat, fill
from tests.llm_server import Request, assert_every_message_represented

pytestmark = pytest.mark.once

EMERGENCY = Compaction.Trigger.EMERGENCY
SUMMARY = "## Summary\nThey set servers up.\n\n## Context\n"


LEFT_OUT = "left out to make room"
PLACEHOLDER = f"{ORPHAN}[Result of a tool (#3, 7 characters) {LEFT_OUT}: call read_history(3) to read it.]"


def searched(
    conversation: Conversation, results: list[int], *, protected: bool = True, start: int = 0, alone: bool = False
) -> None:
    """A question for each, and an answer that called a tool with a result of that many words; or the result alone."""
    for number, words in enumerate(results, start):
        result = f"Result {number} found port {9000 + number}. " + f"found{number} " * words
        use = ToolUse(f"call_{number}", "search", '{"for": "ports"}', result)
        asked = _message(conversation, 2 * number, "user", f"Search {number}, please.")
        asked.save(force_insert=True)
        if alone:
            _message(conversation, 2 * number + 1, "tool", result, is_protected=protected).save(force_insert=True)
            continue
        answer = _message(conversation, 2 * number + 1, "assistant", f"Searched {number}.", is_protected=protected)
        answer.token_count += tool_tokens(use)
        answer.save(force_insert=True)
        ToolCall.objects.create(
            message=answer, call_id=use.call_id, name=use.name, arguments=use.arguments, result=result,
            created_at=answer.created_at, token_count=tool_tokens(use),
        )  # fmt: skip


def _message(conversation: Conversation, number: int, role: str, content: str, **fields: Any) -> Message:
    return Message(
        conversation=conversation, role=role, content=content, created_at=START + timedelta(minutes=number),
        token_count=transcript.message_tokens(content, role=role), **fields,
    )  # fmt: skip


def stored() -> list[dict[str, Any]]:
    return [*Message.objects.order_by("created_at").values(), *ToolCall.objects.order_by("id").values()]


def state(conversation: Conversation) -> dict[str, Any]:
    conversation.refresh_from_db()
    names = ("compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids", "elided")
    active = Checkpoint.objects.filter(conversation=conversation, active=True).order_by("number")
    return {name: getattr(conversation, name) for name in names} | {"active": list(active.values())}


async def actions() -> list[tuple[str, str]]:
    rows = Compaction.objects.filter(trigger=EMERGENCY).order_by("created_at", "id")
    return [(row.strategy, row.status) async for row in rows]


def cost(request: Request) -> int:
    """Tokens of a request, its calls of tools included."""
    return request.tokens


def results_of(request: Request) -> dict[str, str]:
    return {sent["tool_call_id"]: sent["content"] for sent in request.messages if sent["role"] == "tool"}


async def checked(chat: Chat) -> None:
    """I1 and I3: everything is represented, tools' results too, and no request was larger than the budget."""
    await chat.check()
    window = (await ModelProfile.objects.aget()).usable_window
    assert all(cost(request) <= window.budget for request in chat.llm.chats)
    sent = results_of(chat.llm.chats[-1])
    loaded = await sync_to_async(transcript.load)(chat.conversation.pk)
    for one in loaded.turns:
        for use in (without_results(one) if one.elided else one).tools:
            assert sent.pop(use.call_id) == truncated(use.result)
    assert not sent


async def test_results_of_tools_that_do_not_fit_are_left_out_the_oldest_first(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [400, 700, 200, 500])
    before = await sync_to_async(stored)()
    assert (await chat.say("Which ports?")).status == "complete"
    await checked(chat)
    assert await actions() == [("elide", "succeeded")]
    left_out = {call: sent for call, sent in results_of(chat.llm.chats[-1]).items() if LEFT_OUT in sent}
    assert list(left_out) == ["call_0", "call_1"]
    size = len((await ToolCall.objects.aget(call_id="call_0")).result or "")
    assert left_out["call_0"] == (
        f"[Result of `search` (#2, {size:,} characters) left out to make room: call read_history(2) to read it.]"
    )
    assert (await sync_to_async(stored)())[: len(before) - 4] == before[:-4]
    assert [row async for row in ToolCall.objects.order_by("id").values()] == before[-4:]


async def test_what_was_left_out_is_listed_and_what_it_saved_is_told(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [800, 900, 850])
    await chat.say("Which ports?")
    row = await Compaction.objects.aget(trigger=EMERGENCY)
    await chat.refresh()
    (step,) = row.steps
    assert step["action"] == "2 tool results left out"
    assert set(step["message_ids"]) == set(chat.conversation.elided)
    assert (row.summariser, row.first_message, row.last_message) == ("", None, None)
    assert row.post_tokens == sum(elision(one).tokens for one in chat.conversation.elided.values())
    rows = Message.objects.filter(pk__in=step["message_ids"])
    assert row.pre_tokens == sum([message.token_count async for message in rows])
    assert row.reduction_percent == round(100 * (1 - row.post_tokens / row.pre_tokens), 1)
    snapshot = await Snapshot.objects.aget(compaction=row)
    assert (snapshot.purpose, snapshot.elided) == ("emergency", {})


async def test_usage_is_what_is_sent_with_placeholders_in_place(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [700, 900])
    await chat.say("Which ports?")
    loaded = await sync_to_async(transcript.load)(conversation.pk)
    measured = await sync_to_async(usage.usage_of)(loaded)
    reply = loaded.turns[-1].tokens
    assert measured is not None
    assert cost(chat.llm.chats[-1]) <= measured.total - reply <= cost(chat.llm.chats[-1]) + 10


@pytest.mark.parametrize("limit", [100, 2_000, 50_000])
async def test_conversations_of_nothing_but_results_fit_at_any_limit(
    conversation: Conversation, chat: Chat, settings: Any, limit: int
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = limit
    await sync_to_async(searched)(conversation, [1_500] * 8, protected=False)
    await sync_to_async(searched)(conversation, [1_500] * 8, start=8)
    for number in range(3):
        assert (await chat.say(f"And port {number}?")).status == "complete"
        await checked(chat)


async def test_results_whose_call_is_not_known_are_left_out_too(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(searched)(conversation, [800, 900, 850], alone=True)
    assert (await chat.say("Which ports?")).status == "complete"
    await checked(chat)
    placeholders = [sent for sent in chat.llm.chats[-1].messages if LEFT_OUT in sent["content"]]
    assert len(placeholders) == len(chat.conversation.elided) == 2


@pytest.mark.parametrize("alone", [False, True], ids=["with their calls", "without a call"])
def test_what_was_left_out_costs_the_same_where_its_file_is_imported(conversation: Conversation, alone: bool) -> None:
    searched(conversation, [1_500] * 12, alone=alone)
    assert emergency.elide(transcript.load(conversation.pk))
    conversation.refresh_from_db()
    (back,) = import_conversations(conversation.owner, json.dumps(as_json(conversation)).encode())
    back.refresh_from_db()
    costs = [sorted(elision(one).tokens for one in row.elided.values()) for row in (back, conversation)]
    assert costs[0] == costs[1] != []
    assert usage.total(back.pk) == usage.total(conversation.pk)


async def test_a_restore_brings_everything_back_and_the_next_turn_may_act_again(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [900, 900])
    before = await sync_to_async(state)(conversation)
    await chat.say("Which ports?")
    assert await sync_to_async(state)(conversation) != before
    snapshot = await Snapshot.objects.aget(purpose="emergency")
    await sync_to_async(compaction.rollback)(conversation, snapshot_id=snapshot.pk)
    assert await sync_to_async(state)(conversation) == before
    assert (await Compaction.objects.aget(trigger=EMERGENCY)).status == "undone"
    assert (await chat.say("And again?")).status == "complete"
    await checked(chat)
    assert await actions() == [("elide", "undone"), ("elide", "succeeded")]


async def test_a_later_compaction_reads_what_was_left_out_in_full(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [600, 600, 600])
    await chat.say("Which ports?")
    await chat.refresh()
    left_out = set(chat.conversation.elided)
    async for message in Message.objects.filter(is_protected=True):
        await sync_to_async(protect)(conversation, message.pk, on=False)
    row = await chat.compact(trigger="api", keep_recent=0)
    assert (row.status, row.summariser) == ("succeeded", "scripted")
    assert chat.conversation.elided == {}
    shown = "\n".join(asked.text for asked in chat.llm.summaries)
    async for call in ToolCall.objects.filter(message__in=left_out):
        assert " ".join(call.result.split()[-40:]) in " ".join(shown.split())
    assert row.facts_found >= 3
    await chat.say("Gone?")
    await checked(chat)


async def summarised(chat: Chat, times: int) -> None:
    """So many summaries of a few hundred tokens each, and nothing verbatim beside them."""
    for number in range(times):
        await sync_to_async(fill_after)(chat.conversation, 6, start=6 * number)
        lines = "\n".join(f"- Server {number}-{line} listens on port {number}{line:03}." for line in range(25))
        chat.llm.enqueue_summary(SUMMARY + lines)
        assert (await chat.compact(trigger="api", keep_recent=0)).status == "succeeded"


def fill_after(conversation: Conversation, count: int, *, start: int) -> None:
    for number in range(start, start + count):
        text = f"Message {number} says port {5000 + number}. " + f"word{number} " * 80
        _message(conversation, number, "assistant" if number % 2 else "user", text).save(force_insert=True)


async def test_old_summaries_become_a_short_one_where_nothing_else_is_there(
    conversation: Conversation, chat: Chat
) -> None:
    await ModelProfile.objects.aupdate(window=16_000)
    await summarised(chat, 6)
    summaries = [one async for one in Checkpoint.objects.filter(active=True).order_by("number")]
    before = await sync_to_async(state)(conversation)
    await ModelProfile.objects.aupdate(window=1_000)
    assert (await chat.say("Which port?")).status == "complete"
    await checked(chat)
    assert await actions() == [("age", "succeeded")]
    one = await Checkpoint.objects.aget(active=True)
    assert (one.age, one.first_message, one.digest) == (2, summaries[0].first_message, summaries[-1].digest)
    assert (one.last_message, one.last_message_at) == (summaries[-1].last_message, summaries[-1].last_message_at)
    row = await Compaction.objects.aget(trigger=EMERGENCY)
    assert row.steps[0]["action"] == f"{len(summaries)} summaries shortened to one"
    assert (row.pre_tokens, row.post_tokens) == (before["compressed_tokens"], chat.conversation.compressed_tokens)
    assert chat.conversation.compressed_at == before["compressed_at"]
    snapshot = await Snapshot.objects.aget(compaction=row)
    await sync_to_async(compaction.rollback)(conversation, snapshot_id=snapshot.pk)
    assert await sync_to_async(state)(conversation) == before


async def test_a_compaction_after_the_summaries_were_merged_adds_to_them(
    conversation: Conversation, chat: Chat
) -> None:
    await ModelProfile.objects.aupdate(window=16_000)
    await summarised(chat, 6)
    await ModelProfile.objects.aupdate(window=1_000)
    await chat.say("Which port?")
    await ModelProfile.objects.aupdate(window=4_000)
    for number in range(4):
        await chat.say(f"More {number} " + "pad " * 80)
    assert (await chat.compact(trigger="api", keep_recent=0)).status == "succeeded"
    await chat.say("All there?")
    await checked(chat)


async def test_messages_are_omitted_where_every_compaction_was_disturbed(
    conversation: Conversation, chat: Chat
) -> None:
    await sync_to_async(fill)(conversation, 60)
    before = await sync_to_async(state)(conversation)
    chat.llm.summary_takes(seconds=0.5)
    begun = await chat.send("And now?")
    first = await Message.objects.order_by("created_at").afirst()
    assert first is not None
    async with asyncio.timeout(30):
        for disturbed in range(2):
            asked = len(chat.llm.summaries)
            while len(chat.llm.summaries) == asked:  # it has read the conversation, then
                await asyncio.sleep(0.01)
            await sync_to_async(protect)(conversation, first.pk, on=not disturbed)
            while await Compaction.objects.filter(status="discarded").acount() == disturbed:
                await asyncio.sleep(0.01)
    assert (await chat.ended(begun.reply.pk)).status == "complete"
    await checked(chat)
    assert await actions() == [("truncate", "succeeded")]
    row = await Compaction.objects.aget(trigger=EMERGENCY)
    assert row.steps[-1]["action"] == "56 messages left out, but for a note of their facts"
    assert (await Checkpoint.objects.aget(active=True)).provisional
    snapshot = await Snapshot.objects.aget(compaction=row, purpose="emergency")
    await sync_to_async(compaction.rollback)(conversation, snapshot_id=snapshot.pk)
    assert await sync_to_async(state)(conversation) == before


async def test_a_conversation_that_cannot_fit_is_refused_each_time_and_does_not_fill_the_log(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [300, 300])
    await _message(conversation, 10, "user", "word " * 2_500).asave(force_insert=True)
    await ModelProfile.objects.aupdate(window=2_000)
    with pytest.raises(TooLarge) as refused:
        await trigger.ensure_room(conversation.pk)
    assert {"system", "summary", "protected", "live", "budget"} <= set(refused.value.detail)
    rows = await Compaction.objects.acount()
    for attempt in range(1, 4):
        with pytest.raises(TooLarge):
            await trigger.ensure_room(conversation.pk)
        assert await Compaction.objects.acount() <= rows + 2 * attempt
    assert not await Compaction.objects.filter(status__in=Compaction.ACTIVE).aexists()
    assert not chat.llm.chats


async def test_a_turn_that_is_refused_is_answered_once_the_window_is_large_enough(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [600, 600])
    await sync_to_async(fill_after)(conversation, 24, start=6)
    await Message.objects.aupdate(is_protected=True)
    reply = await chat.say("Well?")
    assert (reply.status, "protected" in reply.error, chat.llm.chats) == ("failed", True, [])
    await ModelProfile.objects.aupdate(window=16_000)
    again = await sync_to_async(turn.retry)(conversation, reply.pk)
    assert (await chat.ended(again.pk)).status == "complete"
    await checked(chat)


async def test_a_state_that_changes_meanwhile_is_not_overwritten(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [900, 900])
    loaded = await sync_to_async(transcript.load)(conversation.pk)
    message = await Message.objects.filter(role="user").afirst()
    assert message is not None
    await sync_to_async(protect)(conversation, message.pk, on=True)
    assert await sync_to_async(emergency.elide)(loaded)
    await chat.refresh()
    assert chat.conversation.elided == {}
    assert not await Snapshot.objects.filter(purpose="emergency").aexists()
    assert (await Compaction.objects.aget()).status == "discarded"


async def test_while_another_compaction_runs_nothing_is_done(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [900, 900])
    loaded = await sync_to_async(transcript.load)(conversation.pk)
    running = await Compaction.objects.acreate(
        conversation=conversation, trigger="manual", lease_expires_at=START.replace(year=2999)
    )
    assert await sync_to_async(emergency.elide)(loaded)
    assert (await Compaction.objects.aget()).pk == running.pk


async def test_an_emergency_is_no_automatic_compaction_to_rest_from(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    await sync_to_async(searched)(conversation, [1_200, 1_200])
    await chat.say("Which ports?")
    await Compaction.objects.exclude(trigger=EMERGENCY).adelete()
    for number in range(4):
        await chat.say(f"More {number} " + "pad " * 330)
    assert await Compaction.objects.filter(trigger="auto", status="succeeded", summariser="scripted").aexists()
    await checked(chat)


@pytest.mark.parametrize(("placeholders", "represented"), [(0, False), (1, True), (2, False)])
def test_a_placeholder_stands_for_one_result_that_is_not_sent_and_for_no_other(
    placeholders: int, represented: bool
) -> None:
    sent = [
        "Search, please.",
        f"{ORPHAN}found 1",
        *[PLACEHOLDER] * placeholders,
    ]
    request = Request({"messages": [{"role": "user", "content": content} for content in sent]})
    rows = [(content, False, False) for content in ("Search, please.", "found 1", "found 2")]
    with nullcontext() if represented else pytest.raises(AssertionError):
        assert_every_message_represented(rows, request=request)


def test_the_page_says_what_was_done(conversation: Conversation, client: Client, user: Any) -> None:
    row = Compaction.objects.create(
        conversation=conversation, trigger="emergency", status="succeeded", strategy="elide", pre_tokens=2_000,
        post_tokens=100, steps=[emergency.step("2 tool results left out")],
    )  # fmt: skip
    client.force_login(user)
    page = client.get(reverse("status", args=[conversation.pk]), {"was": str(row.pk)}).content.decode()
    assert "2 tool results left out" in page
    assert "2,000 → 100 tokens" in page
