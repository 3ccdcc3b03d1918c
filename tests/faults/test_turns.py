"""What went wrong once: replies that never ended, locks that stayed, requests that were too large."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection
from django.utils import timezone

from chatsite.request_threads import request_thread
from compression.core.values import Steering
from compression.models import Compaction, KeptSummary
from conversations.compaction import lease
from conversations.errors import Conflict
from conversations.exchange.imports import import_conversations
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile
from conversations.requests import usage
from conversations.runtime.events import hub
from conversations.turns import conversations, running_replies, stop, turn
from tests.conversations.chat import Chat, fill
from tests.conversations.conftest import chat
from tests.llm_server import listen
from tests.statements import through

__all__ = ["chat"]


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 40)
    return conversation


async def test_stop_at_any_moment_leaves_nothing_running(filled: Conversation, chat: Chat) -> None:
    moments = random.Random(7)
    for number in range(25):
        await Conversation.objects.aupdate(compressed_context=None, compressed_at=None, compressed_tokens=0)
        begun = await chat.send(f"go {number}")
        await asyncio.sleep(moments.uniform(0, 0.03))
        await sync_to_async(stop.stop)(chat.conversation)
        await chat.ended(begun.reply.pk)
        while running_replies.in_progress:
            await asyncio.sleep(0.01)
        assert not await Compaction.objects.filter(status__in=Compaction.ACTIVE).aexists()


async def test_a_reply_that_is_stopped_before_it_began_asks_no_model(chat: Chat) -> None:
    def at_once() -> Message:
        begun = turn.begin(chat.conversation, content="hi")
        stop.stop(chat.conversation)
        return begun.reply

    reply = await sync_to_async(at_once)()
    await chat.idle()
    assert (await Message.objects.aget(pk=reply.pk)).status == "stopped"
    assert not chat.llm.chats
    assert (await chat.say("and now?")).status == "complete"


async def test_a_reply_whose_end_the_database_refuses_for_a_while_is_saved_later(chat: Chat) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("a lock of the whole database is SQLite's")
    await chat.say("warm up")
    await sync_to_async(impatient)()
    chat.llm.enqueue("slow", delay=0.3)
    refused: list[str] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            return execute(sql, params, many, context)
        except OperationalError:
            refused.append(sql)
            raise

    begun = await chat.send("hi")
    await asyncio.to_thread(chat.llm.wait_for, lambda llm: len(llm.chats) == 2)
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    async with through(watch), asyncio.timeout(20):
        while len(refused) < 2:
            await asyncio.sleep(0.01)
    other.execute("COMMIT")
    reply = await chat.ended(begun.reply.pk)
    assert (reply.status, reply.content) == ("complete", "slow")


def impatient() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout=50")


async def test_a_retry_is_measured_against_the_model_that_it_goes_to(
    filled: Conversation, chat: Chat, profile: ModelProfile
) -> None:
    await ModelProfile.objects.aupdate(window=100_000)
    chat.llm.enqueue(status=401)
    reply = await chat.say("hello?")
    await ModelProfile.objects.filter(pk=profile.pk).aupdate(enabled=False)
    small = await ModelProfile.objects.acreate(
        name="small", model_id="small", base_url=chat.llm.url, api_key="k", window=4_000, token_correction=1.0
    )
    again = await sync_to_async(turn.retry)(chat.conversation, reply.pk)
    assert (await chat.ended(again.pk)).status == "complete"
    assert chat.llm.chats[-1].tokens <= small.usable_window.budget


async def test_a_disabled_model_summarises_nothing(filled: Conversation, chat: Chat, profile: ModelProfile) -> None:
    await ModelProfile.objects.filter(pk=profile.pk).aupdate(enabled=False)
    assert (await chat.compact()).summariser == "extractive"
    assert not chat.llm.summaries


async def test_a_retry_keeps_what_had_been_written(chat: Chat) -> None:
    reply = await chat.say("write it")
    await Message.objects.filter(pk=reply.pk).aupdate(status="interrupted", content="an hour of text")
    chat.llm.enqueue(status=401)
    again = await sync_to_async(turn.retry)(chat.conversation, reply.pk)
    await chat.ended(again.pk)
    assert (await Message.objects.aget(pk=reply.pk)).content == "an hour of text"


async def test_a_reply_that_a_summary_stands_for_is_not_rewritten(filled: Conversation, chat: Chat) -> None:
    reply = await chat.say("what is the vault code?")
    await Message.objects.filter(pk=reply.pk).aupdate(status="interrupted", content="The vault code is")
    assert (await chat.compact(trigger="api", keep_recent=0)).status == "succeeded"
    with pytest.raises(Conflict, match="summary"):
        await sync_to_async(turn.retry)(chat.conversation, reply.pk)


async def test_an_unforeseen_fault_of_a_summariser_is_a_step_of_the_chain(filled: Conversation, chat: Chat) -> None:
    """What it looks up fails as nothing of a database does."""
    broken: list[str] = []

    def boom(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if KeptSummary._meta.db_table in sql and sql.startswith("SELECT"):
            broken.append(sql)
            raise ValueError("boom")
        return execute(sql, params, many, context)

    async with through(boom):
        reply = await chat.say("go on")
    assert broken
    assert reply.status == "complete"
    row = await Compaction.objects.aget()
    assert (row.status, row.summariser) == ("succeeded", "extractive")


async def test_a_failed_heartbeat_does_not_fail_what_succeeded(
    filled: Conversation, chat: Chat, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The database refuses a beat while the work goes on; the work ends well, and a later beat renews the lease."""
    settings.LEASE_SECONDS = 2
    row = await sync_to_async(lease.claim)(filled.pk, trigger="manual", steering=Steering())
    begun = row.lease_expires_at
    settings.LEASE_SECONDS = 0.4
    refused: list[str] = []

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not refused and sql.startswith('UPDATE "compression_compaction"'):
            refused.append(sql)
            raise OperationalError("database is locked")
        return execute(sql, params, many, context)

    async def renewed() -> bool:
        return not await Compaction.objects.filter(pk=row.pk, lease_expires_at=begun).aexists()

    async with asyncio.timeout(10), through(refuse), lease.renewed(row):
        while not (refused and await renewed()):
            await asyncio.sleep(0.01)
    await sync_to_async(lease.finish)(row, Compaction.Status.SUCCEEDED)
    assert refused
    assert "could not be renewed" in caplog.text
    assert (await Compaction.objects.aget(pk=row.pk)).status == "succeeded"


async def test_two_that_find_an_abandoned_compaction_both_go_on(conversation: Conversation, chat: Chat) -> None:
    faults: list[BaseException] = []

    def ask(barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
            lease.active(conversation.pk)
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    for _ in range(15):
        await Compaction.objects.acreate(
            conversation=conversation, trigger="auto", status="running",
            lease_expires_at=timezone.now() - timedelta(seconds=1),
        )  # fmt: skip
        barrier = threading.Barrier(4)
        await asyncio.gather(*(asyncio.to_thread(ask, barrier) for _ in range(4)))
    assert not faults


async def test_a_deletion_goes_through_while_others_write(user: Any, profile: ModelProfile, chat: Chat) -> None:
    faults: list[str] = []

    def trying(verb: Any) -> Any:
        def act() -> None:
            try:
                verb()
            except Conflict:
                pass
            except Exception as fault:
                faults.append(repr(fault))
            finally:
                connection.close()

        return asyncio.to_thread(act)

    for number in range(12):
        row = await Conversation.objects.acreate(owner=user, model=profile)
        await sync_to_async(fill)(row, 200, words=5)
        deleting = asyncio.ensure_future(trying(lambda row=row: conversations.delete(row)))
        await asyncio.sleep(0.001 * (number % 6))
        await asyncio.gather(
            deleting,
            trying(lambda row=row: turn.begin(row, content="hello")),
            trying(lambda row=row: lease.claim(row.pk, trigger="api", steering=Steering())),
        )
        assert not await Conversation.objects.filter(pk=row.pk).aexists()
    assert not faults


async def test_a_stop_that_is_noted_and_cancels_the_task_at_any_moment_leaves_no_reply(chat: Chat) -> None:
    """A Stop of another process is noted with the reply; one of this process cancels its task as well."""
    for number in range(40):
        row = await Conversation.objects.acreate(owner_id=chat.conversation.owner_id, model=chat.conversation.model)
        reply = await row.messages.acreate(
            role="assistant", status="streaming", created_at=timezone.now(), stopping_at=timezone.now(),
            lease_token=row.pk, lease_expires_at=timezone.now() + timedelta(minutes=1),
        )  # fmt: skip
        task = asyncio.ensure_future(turn.run(row.pk, reply.pk, row.pk))
        await asyncio.sleep(0.0005 * number)
        running_replies.stop_here(row.pk)
        await asyncio.gather(task, return_exceptions=True)
        assert not running_replies.in_progress, number
        await reply.arefresh_from_db()
        assert not reply.is_streaming or number < 3, number


async def test_a_conversation_that_is_deleted_while_it_is_compressed_leaves_no_error(
    filled: Conversation, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    chat.llm.summary_takes(seconds=0.3)
    with hub.listen(filled.pk):
        await chat.start_compaction()
        await asyncio.to_thread(chat.llm.wait_for, lambda llm: bool(llm.summaries))
        await sync_to_async(conversations.delete)(filled)
        await chat.idle()
    assert not [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


async def test_kept_messages_of_the_tail_stay_verbatim(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 20, protected=(1, 2, 3, 4, 5))
    await chat.compact()
    rows = {n: await Message.objects.aget(content__startswith=f"Message {n} ") for n in range(1, 6)}
    for number in (1, 2, 3):
        await sync_to_async(protect)(chat.conversation, rows[number].pk, on=False)
    await chat.compact(up_to=str(rows[3].pk))
    await chat.say("what is pinned?")
    assert "Message 4 " in chat.llm.chats[-1].text
    await chat.check()


async def test_results_without_their_calls_are_counted_as_they_are_sent(conversation: Conversation, chat: Chat) -> None:
    talk = [{"role": "tool", "content": f"r{number}", "tool_call_id": f"x{number}"} for number in range(150)]
    body = {"title": "orphans", "messages": [{"role": "user", "content": "go"}, *talk]}
    owner = await sync_to_async(lambda: chat.conversation.owner)()
    [imported] = await sync_to_async(import_conversations)(owner, json.dumps(body).encode())
    told = await sync_to_async(usage.usage_of_conversation)(imported)
    await Chat(imported, chat.llm).say("and?")
    assert told is not None
    assert abs(chat.llm.chats[-1].tokens - told.total) < 40


async def test_a_thread_that_is_still_busy_is_not_given_to_the_next_request() -> None:
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        over.wait(3)

    async def slow() -> None:
        async with request_thread():
            await sync_to_async(work)()

    async def quick() -> float:
        async with request_thread():
            began = time.monotonic()
            await sync_to_async(lambda: None)()
            return time.monotonic() - began

    task = asyncio.create_task(slow())
    assert await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await asyncio.create_task(quick()) < 2
    over.set()


@pytest.mark.parametrize("sentences", [90, pytest.param(300, marks=pytest.mark.long)])
async def test_summaries_of_any_length_leave_the_next_request_within_the_window(
    conversation: Conversation, chat: Chat, sentences: int
) -> None:
    await sync_to_async(fill)(conversation, 200, words=60)
    # Of the words of the conversation, and never the same ones in a row: else it would be refused for that.
    said = ["Message", "says", "port", "spoke", "of", "ports", "and", "words", "at", "length"]
    some = random.Random(1).choices(said, k=9 * sentences)
    long = f"{' '.join(some)}."
    chat.llm.enqueue_summary(f"## Summary\n{long}\n\n## State\n- Done: ports", times=30)
    await chat.compact()
    assert len(chat.llm.summaries) > 3
    assert max(asked.tokens + asked.body["max_tokens"] for asked in chat.llm.summaries) <= 4_000


async def test_long_instructions_leave_the_request_within_the_window(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 200, words=60)
    await chat.compact(instructions="記錄每一個端口號碼與決定的理由鑒龘" * 60)
    assert all(asked.tokens + asked.body["max_tokens"] <= 4_000 for asked in chat.llm.summaries)


async def test_a_reply_is_never_promised_more_than_its_reserve(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(window=8_192, max_reply_tokens=8_000)
    await chat.say("word " * 400)
    asked = chat.llm.last_request
    assert asked.tokens + asked.body["max_tokens"] <= 8_192


@pytest.mark.parametrize(
    ("summary", "summariser"),
    [
        ("## Summary\nI'm sorry, I can't help with that.\n\n## Decisions\n-\n\n## Context\n-", "extractive"),
        ("## Summary\nN/A\n\n## Context\nnone", "extractive"),
        ("First ## Summary\nplan\n## State\nhm\n</think>\n## Summary\nPorts.\n\n## State\n- Done: ports", "scripted"),
    ],
)
async def test_refusals_and_reasoning_under_headings_are_no_summary(
    conversation: Conversation, chat: Chat, summary: str, summariser: str
) -> None:
    await sync_to_async(fill)(conversation, 20)
    chat.llm.enqueue_summary(summary)
    assert (await chat.compact()).summariser == summariser
    context = chat.conversation.compressed_context or ""
    assert "sorry" not in context
    assert "plan" not in context


async def test_absurd_figures_of_many_passages_fit_their_row(conversation: Conversation, chat: Chat) -> None:
    await sync_to_async(fill)(conversation, 100, words=60)
    usage = {"prompt_tokens": 2_000_000_000, "completion_tokens": 5}
    chat.llm.enqueue_summary("## Summary\nPorts.\n\n## State\n- Done: ports", usage=usage, times=20)
    await ModelProfile.objects.aupdate(price_input=30, price_output=60)
    assert (await chat.compact()).status == "succeeded"


@pytest.mark.parametrize(
    ("said", "stored"), [("half \ud83d here", "half \ufffd here"), ("whole \ud83d\ude00", "whole 😀"), ("a\0b", "ab")]
)
async def test_what_no_text_may_hold_is_replaced_in_replies(chat: Chat, said: str, stored: str) -> None:
    chat.llm.enqueue(said, usage=None, piece=7)
    reply = await chat.say("hi")
    assert (reply.status, reply.content) == ("complete", stored)


async def test_a_stream_of_comments_ends_with_the_time_out(chat: Chat, settings: Any) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 0.4

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        while not writer.is_closing():
            writer.write(b": still here\n\n")
            await asyncio.sleep(0.05)

    server, port = await listen(serve)
    async with server:
        await ModelProfile.objects.aupdate(base_url=f"http://127.0.0.1:{port}/v1")
        reply = await chat.say("hi")
    assert reply.status == "failed"
    assert "nothing came" in reply.error
