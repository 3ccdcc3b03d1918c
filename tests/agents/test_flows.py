"""Each flow within its own budget, looked at before every request: real rows, and summaries over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compression.core.values import Steering, ToolUse
from compression.models import Compaction
from conversations.compaction import compaction, lease, snapshots, trigger
from conversations.context import prompt, transcript
from conversations.context.transcript import Loaded
from conversations.models import Conversation, Message, ModelProfile, ToolCall
from conversations.requests import usage
from tests.agents.test_properties import assert_calls_have_their_results
from tests.conversations.chat import START
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once
BUDGETS = {"agent": 2_500, "executor": 600}
OF_KIND = {"agent": "planner", "executor": "executor"}
WHOLE = "line {n} of the log names port {p} and node-{n}.internal. "


def words(number: int, tokens: int) -> str:
    """About that many tokens, a fact in each of its sentences."""
    return " ".join(f"Step {number}.{each} opened port {6_000 + 10 * number + each}." for each in range(tokens // 12))


def say(
    conversation: Conversation, number: int, role: str, content: str, results: Sequence[str] = (), **fields: Any
) -> Message:
    uses = [ToolUse(f"call{number}-{each}", "read", '{"path": "log"}', it) for each, it in enumerate(results)]
    message = Message.objects.create(
        conversation=conversation,
        role=role,
        content=content,
        created_at=START + timedelta(seconds=number),
        token_count=transcript.message_tokens(content, uses, role=role),
        **fields,
    )
    for use in uses:
        ToolCall.objects.create(
            message=message, call_id=use.call_id, name=use.name, arguments=use.arguments, result=use.result,
            created_at=message.created_at,
        )  # fmt: skip
    return message


def talked(conversation: Conversation, kind: str, messages: int, tokens: int) -> None:
    """A person, or the planner, and who answers, in turn; an executor's first message is its assignment."""
    conversation.kind = kind
    conversation.save()
    for number in range(messages):
        protected = kind == "executor" and number == 0
        say(conversation, number, ("user", "assistant")[number % 2], words(number, tokens), is_protected=protected)


async def ensured(conversation: Conversation) -> Loaded:
    loaded = await trigger.ensure_room(conversation.pk)
    assert_calls_have_their_results(prompt.assemble(loaded).messages)
    return loaded


async def rows(conversation: Conversation) -> list[Compaction]:
    return [row async for row in Compaction.objects.filter(conversation=conversation).order_by("created_at")]


def history(loaded: Loaded) -> int:
    flow = usage.flow_usage(loaded)
    assert flow is not None
    return flow.history


@pytest.mark.parametrize(("kind", "messages", "tokens"), [("agent", 11, 320), ("executor", 9, 85)])
async def test_a_flow_is_compressed_before_the_request_that_would_go_beyond_its_budget(
    conversation: Conversation, llm: LlmServer, kind: str, messages: int, tokens: int
) -> None:
    await sync_to_async(talked)(conversation, kind, messages, tokens)
    before = history(await sync_to_async(transcript.load)(conversation.pk))
    loaded = await ensured(conversation)
    (row,) = await rows(conversation)
    assert (row.flow, row.trigger, row.status) == (OF_KIND[kind], "auto", "succeeded")
    assert before > BUDGETS[kind] >= history(loaded)
    assert len(llm.summaries) == 1 and len([one for one in loaded.live if not one.protected]) >= 4
    assert (await ensured(conversation)).turns == loaded.turns and len(await rows(conversation)) == 1


@pytest.mark.parametrize(
    ("kind", "messages", "tokens"), [("agent", 10, 900), ("agent", 16, 90), ("executor", 5, 900), ("executor", 7, 70)]
)
async def test_a_flow_with_few_messages_or_within_its_budget_is_left_alone(
    conversation: Conversation, kind: str, messages: int, tokens: int
) -> None:
    await sync_to_async(talked)(conversation, kind, messages, tokens)
    assert len((await ensured(conversation)).turns) == messages
    assert await rows(conversation) == []


async def test_the_task_stands_beside_an_executors_history_word_for_word(conversation: Conversation) -> None:
    await sync_to_async(talked)(conversation, "executor", 1, 2_000)
    for number in range(1, 7):
        await sync_to_async(say)(conversation, number, "assistant", words(number, 90))
    loaded = await ensured(conversation)
    assert await rows(conversation) == [] and history(loaded) <= 600
    for number in range(7, 11):
        await sync_to_async(say)(conversation, number, "assistant", words(number, 90))
    loaded = await ensured(conversation)
    assert history(loaded) <= 600 and loaded.turns[0].content == words(0, 2_000)
    assert [row.status for row in await rows(conversation)] == ["succeeded"]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 400},
        {"status": 503, "retry_after": "0"},
        {"text": "I'm sorry, but I can't help with that."},
        {"text": "words without any heading"},
        {"text": "", "fault": "null", "retry_after": "0"},
    ],
)
async def test_a_summariser_that_fails_does_not_stop_a_run(
    conversation: Conversation, llm: LlmServer, fault: dict[str, Any]
) -> None:
    llm.enqueue_summary(**({"text": "x"} | fault), times=20)
    await sync_to_async(talked)(conversation, "executor", 9, 160)
    loaded = await ensured(conversation)
    (row,) = await rows(conversation)
    assert (row.status, row.flow) == ("succeeded", "executor")
    assert row.summariser in ("extractive", "truncation") and row.steps[0]["summariser"] == "scripted"
    assert history(loaded) <= 600


async def test_25_requests_with_long_results_need_a_handful_of_summaries(
    conversation: Conversation, llm: LlmServer
) -> None:
    await sync_to_async(talked)(conversation, "executor", 1, 100)
    result = "".join(WHOLE.format(n=n, p=n + 6_000) for n in range(60))[:3_000]
    for number in range(1, 25):
        loaded = await ensured(conversation)
        if number > 1:
            assert loaded.turns[-1].tools[0].result == f"{number - 1} {result}"[:2_000] + transcript.TRUNCATED
        await sync_to_async(say)(conversation, number, "assistant", "", [f"{number} {result}"])
    await ensured(conversation)
    done = await rows(conversation)
    assert {row.status for row in done} == {"succeeded"} and 4 <= len(done) <= 8
    assert [len(call.result) async for call in ToolCall.objects.order_by("id")][-1] == 3_003


async def test_nothing_is_begun_again_and_again_where_nothing_can_be_condensed(
    conversation: Conversation, llm: LlmServer
) -> None:
    await sync_to_async(talked)(conversation, "executor", 1, 100)
    for number in range(1, 7):
        await sync_to_async(say)(conversation, number, "assistant", "ok", is_protected=number < 5)
    await sync_to_async(say)(conversation, 7, "assistant", "", [words(7, 900)])
    for _ in range(3):
        assert history(await ensured(conversation)) > 600
    assert await rows(conversation) == [] and llm.received == []


async def test_a_budget_is_counted_as_the_model_counts(conversation: Conversation, profile: ModelProfile) -> None:
    await sync_to_async(talked)(conversation, "executor", 7, 90)
    counted = history(await ensured(conversation))
    assert counted <= 600 and await rows(conversation) == []
    profile.token_correction = 1.6
    await profile.asave()
    before = history(await sync_to_async(transcript.load)(conversation.pk))
    assert before == pytest.approx(1.6 * counted, abs=2)
    assert history(await ensured(conversation)) <= 600 < before


def looked(conversation: Conversation) -> None:
    """What a planner at its tools was asked, and what its calls found."""
    talked(conversation, "agent", 3, 60)
    for number in range(3, 9):
        say(conversation, number, "assistant", f"I look, {number}.", [f"{number}a {words(number, 90)}", f"{number}b"])
    say(conversation, 9, "assistant", "", status="streaming")


@pytest.mark.parametrize("steering", [Steering(keep_recent=0), Steering()])
async def test_who_presses_compact_in_the_middle_leaves_the_group_that_is_answered(
    conversation: Conversation, steering: Steering
) -> None:
    await sync_to_async(looked)(conversation)
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=steering)
    await compaction.run(row.pk)
    loaded = await ensured(conversation)
    messages = prompt.assemble(loaded).messages
    told = [message["content"] for message in messages]
    assert [row.status for row in await rows(conversation)] == ["succeeded"]
    assert words(2, 60) in told, "the question"
    assert f"8a {words(8, 90)}" in told and "8b" in told and f"3a {words(3, 90)}" not in told


async def test_going_back_and_forth_around_groups_of_tools_keeps_every_result_with_its_call(
    conversation: Conversation,
) -> None:
    await sync_to_async(looked)(conversation)
    whole = await ensured(conversation)
    target = whole.turns[5]
    snapshot = await sync_to_async(snapshots.take_snapshot)(conversation)
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering(up_to=target.id))
    await compaction.run(row.pk)
    folded = await ensured(conversation)
    assert [turn.id for turn in folded.live] == [turn.id for turn in whole.turns[6:]]
    await sync_to_async(snapshots.undo)(conversation, row.pk)
    assert (await ensured(conversation)).turns == whole.turns
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering(keep_recent=2))
    await compaction.run(row.pk)
    assert len((await ensured(conversation)).live) < len(whole.live)
    await sync_to_async(snapshots.rollback)(conversation, snapshot_id=snapshot.pk)
    assert (await ensured(conversation)).turns == whole.turns


async def test_results_are_left_out_in_an_emergency_but_never_without_their_calls(
    conversation: Conversation, profile: ModelProfile
) -> None:
    await sync_to_async(talked)(conversation, "executor", 1, 60)
    for number in range(1, 5):
        results = [words(number, 500), "short"]
        await sync_to_async(say)(conversation, number, "assistant", "", results, is_protected=number < 4)
    profile.window, profile.max_reply_tokens = 3_000, 600
    await profile.asave()
    loaded = await ensured(conversation)
    assert loaded.head.elided and loaded.turns[-1].id not in loaded.head.elided
    measured = usage.usage_of(loaded)
    assert measured is not None and not measured.over_budget
    assert {row.flow for row in await rows(conversation)} == {"executor"}


@pytest.mark.parametrize("window", [1_600, 2_400, 3_000])
async def test_results_that_no_model_has_read_are_shortened_and_never_left_out(
    conversation: Conversation, profile: ModelProfile, settings: Any, window: int
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    results = [f"begin-{n} {words(n, 1_000)} end-{n}" for n in range(3)] + ["short"]
    await sync_to_async(talked)(conversation, "executor", 1, 60)
    await sync_to_async(say)(conversation, 1, "assistant", "", results)
    profile.window, profile.max_reply_tokens = window, 300
    await profile.asave()
    loaded = await ensured(conversation)
    measured = usage.usage_of(loaded)
    assert measured is not None and not measured.over_budget
    sent = [one["content"] for one in prompt.assemble(loaded).messages if one["role"] == "tool"]
    assert len(sent) == 4 and sent[3] == "short"
    for number, text in enumerate(sent[:3]):
        assert text.startswith(f"begin-{number} ") and text.endswith(f" end-{number}")
        assert "characters left out here to make room: call read_history(" in text
    assert measured.total > 0.7 * measured.window.budget, "more of the results would have fitted"
    (row,) = [row for row in await rows(conversation) if row.strategy == "elide"]
    assert row.steps[0]["action"] == "4 tool results shortened"
    await sync_to_async(say)(conversation, 2, "assistant", "", [words(9, 900)])
    later = await ensured(conversation)
    assert not any(turn.excerpt for turn in later.turns if len(turn.tools) == 4), "results that were read go first"


@pytest.mark.django_db(transaction=True)
def test_a_planners_request_costs_the_same_after_5_000_messages(conversation: Conversation) -> None:
    queries = []
    for count in (30, 5_000):
        row = Conversation.objects.create(owner=conversation.owner, model=conversation.model, kind="agent")
        begin = timezone.now() - timedelta(days=1)
        Message.objects.bulk_create(
            [
                Message(conversation=row, role=("user", "assistant")[n % 2], content=f"message {n}", token_count=400,
                        created_at=begin + timedelta(microseconds=n))
                for n in range(count)
            ],
            batch_size=5_000,
        )  # fmt: skip
        row.compressed_at, row.compressed_context = begin + timedelta(microseconds=count - 9), "a summary"
        row.save()
        trigger.is_due(transcript.load(row.pk))
        with CaptureQueriesContext(connection) as asked:
            loaded = transcript.load(row.pk)
            due = trigger.is_due(loaded)
            prompt.assemble(loaded)
        assert len(loaded.turns) == 8 and not due
        queries.append(len(asked))
    assert queries[0] == queries[1] <= 3
