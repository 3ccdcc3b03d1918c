"""A worker that stops in the middle of a run: another goes on where it was, and nothing is done or written twice."""

from __future__ import annotations

import asyncio
import itertools
import random
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.db.models import F
from django.utils import timezone

from compression.models import Compaction
from conversations.agents import dispatch
from conversations.models import AgentRun, Message, ToolCall, ToolServer
from conversations.runtime import queue
from conversations.turns import recovery, running_replies
from tests.agents.conftest import ToolChat
from tests.agents.test_executor import NINE, more, task
from tests.agents.test_mcp import BAD
from tests.statements import through

pytestmark = pytest.mark.once

HOLDS = 'UPDATE "conversations_message" SET "lease_expires_at"'
"""How the statement begins by which a task keeps its lease before it writes."""
LONG_AGO = timedelta(minutes=2)
"""Longer than a lease: what nobody has begun within the first one is begun anew in any case."""


async def taken_over(agent: ToolChat) -> None:
    """The worker is not heard of any more, and another one sweeps; it is in this process, which thinks it is gone."""
    running_replies.in_progress.clear()
    await sync_to_async(run_out)()
    await sync_to_async(recovery.sweep)()


def run_out() -> None:
    past = timezone.now()
    Message.objects.streaming().update(lease_expires_at=past)
    Compaction.objects.filter(status__in=Compaction.ACTIVE).update(lease_expires_at=past)


async def asked(agent: ToolChat, requests: int) -> None:
    await asyncio.to_thread(agent.llm.wait_for, lambda llm: len(llm.chats) == requests)


async def test_an_executor_goes_on_where_its_worker_stopped(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("", calls=[NINE])
    agent.llm.enqueue("The worker dies here.", delay=30)
    begun = await agent.send("What is 4 and 5?")
    await asked(agent, 3)
    agent.llm.enqueue("The sum is 9.")
    agent.llm.enqueue("It is nine.")
    await taken_over(agent)
    *_, last = await agent.turn_ended(begun)
    assert last.content == "It is nine."
    assert await agent.steps() == [("assignment", "Add."), ("tools", ""), ("result", "The sum is 9.")]
    assert [call.result for call in await agent.calls()] == ["The sum is 9.", "9"]
    assert agent.llm.chats[3].messages[-1]["content"] == "9"
    assert await AgentRun.objects.acount() == 1


async def test_a_clarification_is_said_once(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Book.")])
    agent.llm.enqueue("PARTIAL RESULT For how many?")
    agent.llm.enqueue("", calls=[more("For four.")])
    agent.llm.enqueue("The worker dies here.", delay=30)
    begun = await agent.send("A room.")
    await asked(agent, 4)
    agent.llm.enqueue("Room 12.")
    await taken_over(agent)
    await agent.turn_ended(begun)
    kinds = [kind for kind, _ in await agent.steps()]
    assert kinds == ["assignment", "partial_result", "clarification", "result"]
    assert (await agent.run()).turns == 2


@pytest.mark.parametrize("place", range(1, 5))
async def test_a_database_that_is_away_for_a_moment_costs_no_work(agent: ToolChat, place: int) -> None:
    """As a call begins, a task is handed over, the executor answers, and the call ends."""
    held = itertools.count(1)

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(HOLDS) and next(held) == place:
            raise OperationalError("the database is away")
        return execute(sql, params, many, context)

    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("The sum is 9.")
    agent.llm.enqueue("It is nine.")
    async with through(refuse):
        *_, last = await agent.asks("What is 4 and 5?")
    assert next(held) > place
    assert (last.content, len(agent.llm.chats)) == ("It is nine.", 3)
    assert [(call.status, call.result) for call in await agent.calls()] == [("done", "The sum is 9.")]


async def test_a_run_that_had_failed_is_not_begun_anew(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("The worker dies here.", delay=30)
    begun = await agent.send("What is 4 and 5?")
    await asked(agent, 2)
    await AgentRun.objects.aupdate(status="failed", error="It was refused.", finished_at=timezone.now())
    agent.llm.enqueue("It could not be done.")
    await taken_over(agent)
    *_, last = await agent.turn_ended(begun)
    assert (last.content, (await agent.run()).status) == ("It could not be done.", "failed")
    assert [call.error for call in await agent.calls()] == ["The executor could not go on: It was refused."]


async def test_what_the_first_worker_brings_after_all_is_refused(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("Too late.", delay=1.0)
    first = queue._server
    assert first is not None
    begun = await agent.send("What is 4 and 5?")
    await asked(agent, 2)
    agent.llm.enqueue("The sum is 9.")
    await taken_over(agent)
    await agent.turn_ended(begun)
    async with asyncio.timeout(10):
        while first.running:  # the first worker, too
            await asyncio.sleep(0.01)
    assert await agent.steps() == [("assignment", "Add."), ("result", "The sum is 9.")]
    assert not await Message.objects.filter(content="Too late.").aexists()


async def test_a_tool_of_a_server_is_not_called_twice(chat: ToolChat) -> None:
    """It may have taken effect: the model is told so, and decides."""
    chat.llm.enqueue("", calls=[("mail__send", "{}"), NINE])
    chat.llm.enqueue("The worker dies here.", delay=30)
    begun = await chat.send("Send it.")
    await asked(chat, 2)
    await ToolCall.objects.aupdate(status="running", result=None)
    chat.llm.enqueue("Was it sent?")
    await taken_over(chat)
    *_, last = await chat.turn_ended(begun)
    sent, counted = await chat.calls()
    assert (sent.status, sent.error, counted.status, counted.result) == ("failed", dispatch.UNCERTAIN, "done", "9")
    assert last.content == "Was it sent?"


async def test_a_turn_that_brings_its_workers_down_is_given_up(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("The worker dies here.", times=9, delay=30)
    begun = await chat.send("What is 4 and 5?")
    for number in range(recovery.TAKEOVERS + 1):
        await asked(chat, number + 2)
        await Message.objects.aupdate(created_at=F("created_at") - LONG_AGO)
        await taken_over(chat)
    begun.question.created_at -= (recovery.TAKEOVERS + 1) * LONG_AGO
    *_, last = await chat.turn_ended(begun)
    assert (last.status, len(chat.llm.chats)) == ("interrupted", recovery.TAKEOVERS + 2)


async def test_workers_that_a_turn_brings_down_are_counted_over_all_its_replies(chat: ToolChat) -> None:
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("The worker dies here.", delay=30)
    begun = await chat.send("What is 4 and 5?")
    await asked(chat, 2)
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("And the next one here.", delay=30)
    await taken_over(chat)
    await asked(chat, 4)
    assert (await Message.objects.aget(status="streaming")).takeovers == 1
    await chat.stop()
    await chat.turn_ended(begun)


async def test_a_server_that_stops_in_good_order_hands_the_turn_back(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("The server stops here.", delay=30)
    begun = await agent.send("What is 4 and 5?")
    await asked(agent, 2)
    assert queue._server is not None
    await queue._server.stop()
    assert (await agent.run()).status == "running"
    queue.attach(asyncio.get_running_loop())
    agent.llm.enqueue("The sum is 9.")
    await sync_to_async(recovery.sweep)()
    *_, last = await agent.turn_ended(begun)
    assert (last.status, (await agent.run()).status) == ("complete", "done")


async def test_stop_at_any_moment_leaves_nothing_open(agent: ToolChat) -> None:
    moments = random.Random(7)
    for number in range(8):
        agent.llm.clear()
        agent.llm.enqueue("", calls=[task("Add."), NINE])
        agent.llm.enqueue("", calls=[NINE, NINE])
        begun = await agent.send(f"go {number}")
        await asyncio.sleep(moments.uniform(0, 0.2))
        await agent.stop()
        await agent.turn_ended(begun)
        while running_replies.in_progress:
            await asyncio.sleep(0.01)
        assert not await ToolCall.objects.filter(status__in=ToolCall.UNFINISHED).aexists()
        assert not await AgentRun.objects.filter(status="running").aexists()


async def test_a_tool_that_hangs_is_ended_by_stop(chat: ToolChat) -> None:
    hang = {"name": "hang", "description": "Never answers.", "parameters": {"type": "object"}}
    await ToolServer.objects.acreate(name="bad", command=BAD, tools=[hang], allowed=["hang"])
    chat.llm.enqueue("", calls=[("bad__hang", "{}")])
    begun = await chat.send("What is 4 and 5?")
    async with asyncio.timeout(10):
        while not await ToolCall.objects.filter(status="running").aexists():
            await asyncio.sleep(0.01)
    assert await chat.stop()
    *_, last = await chat.turn_ended(begun)
    async with asyncio.timeout(5):
        while (await chat.calls())[0].status == "running":
            await asyncio.sleep(0.01)
    assert (last.status, (await chat.calls())[0].error) == ("stopped", dispatch.STOPPED)
