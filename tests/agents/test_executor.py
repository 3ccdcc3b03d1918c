"""Whole runs: a planner hands tasks over, an executor works on them, both with their own histories."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Compaction
from conversations.agents.reply_scope import MAX_REPLY_REQUESTS
from conversations.context.tools import MAX_TASK_CHARS, MAX_TASK_TURNS
from conversations.models import AgentRun, AgentStep, Conversation, Message, ModelProfile
from conversations.runtime.events import hub
from conversations.turns import branches, conversations, forks, running_replies, versions
from tests.agents.conftest import ToolChat
from tests.conversations.requests.test_copies import seen
from tests.llm_server import Request

pytestmark = pytest.mark.once
NINE = ("calculate", '{"expression": "4 + 5"}')


def task(text: str) -> tuple[str, str]:
    return "delegate_task", json.dumps({"task": text})


def more(text: str) -> tuple[str, str]:
    return "continue_task", json.dumps({"message": text})


def offered(request: Request) -> set[str]:
    return {tool["function"]["name"] for tool in request.body["tools"]}


async def test_a_task_goes_to_an_executor_whose_result_the_planner_is_told(agent: ToolChat) -> None:
    agent.llm.enqueue("I hand this over.", calls=[task("Add 4 and 5.")])
    agent.llm.enqueue("", calls=[NINE])
    agent.llm.enqueue("The sum is 9.")
    agent.llm.enqueue("It is nine.")
    *_, last = await agent.asks("What is 4 and 5?")
    run = await agent.run()
    assert (run.status, run.turns, run.task, last.content) == ("done", 1, "Add 4 and 5.", "It is nine.")
    assert await agent.steps() == [("assignment", "Add 4 and 5."), ("tools", ""), ("result", "The sum is 9.")]
    planner, executor, again, told = agent.llm.chats
    assert offered(planner) == {"delegate_task", "continue_task", "search_history", "read_history"}
    assert {"calculate", "current_time", "search_history", "read_history"} <= offered(executor)
    assert "delegate_task" not in offered(executor)
    assert "What is 4 and 5?" not in executor.text and "carry out a task for a planner" in executor.text
    assert again.messages[-1]["content"] == "9"
    assert told.messages[-1]["content"] == "The sum is 9."


async def test_the_thread_of_a_run_is_its_own_and_goes_with_the_conversation(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    await agent.asks("What is 4 and 5?")
    run = await agent.run()
    thread = run.thread
    assert (thread.kind, thread.parent_id, thread.owner_id) == (
        "executor",
        agent.conversation.pk,
        agent.conversation.owner_id,
    )
    assert [row.is_protected async for row in thread.messages.all()] == [True, False]
    await sync_to_async(conversations.delete)(agent.conversation)
    for rows in (Conversation, Message, AgentRun, AgentStep):
        assert not await rows.objects.aexists()


async def test_what_a_step_took_is_stored_with_its_message(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    await agent.asks("What is 4 and 5?")
    message = await Message.objects.aget(step__kind="result")
    assert message.prompt_tokens and message.completion_tokens and message.request
    assert message.model == "scripted"


async def test_what_planner_and_executor_saw_goes_with_a_fork(agent: ToolChat) -> None:
    agent.llm.enqueue("I hand this over.", calls=[task("Add 4 and 5.")])
    agent.llm.enqueue("", calls=[NINE])
    agent.llm.enqueue("The sum is 9.")
    agent.llm.enqueue("It is nine.")
    *_, last = await agent.asks("What is 4 and 5?")
    copy = await sync_to_async(forks.fork)(agent.conversation, last.pk)
    thread = (await AgentRun.objects.select_related("thread").aget(conversation=copy)).thread
    run = await AgentRun.objects.select_related("thread").aget(conversation=agent.conversation)
    for original, other in ((agent.conversation, copy), (run.thread, thread)):
        before = await sync_to_async(seen)(original)
        assert len(before) == 2 and before[0][0]["parts"][1][0] == "tools"
        assert await sync_to_async(seen)(other) == before
    received = [request.messages for request in agent.llm.chats]
    requests = await sync_to_async(lambda: seen(copy) + seen(thread))()
    assert sorted(map(str, received)) == sorted(str(told["messages"]) for told, _ in requests)


async def test_a_partial_result_is_answered_and_the_same_executor_goes_on(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Book a room.")])
    agent.llm.enqueue("PARTIAL RESULT\nFor how many?")
    agent.llm.enqueue("", calls=[more("For four.")])
    agent.llm.enqueue("Room 12 is booked.")
    agent.llm.enqueue("You have room 12.")
    *_, last = await agent.asks("I need a room.")
    run = await agent.run()
    assert (run.status, run.turns, last.content) == ("done", 2, "You have room 12.")
    assert await agent.steps() == [
        ("assignment", "Book a room."), ("partial_result", "PARTIAL RESULT\nFor how many?"),
        ("clarification", "For four."), ("result", "Room 12 is booked."),
    ]  # fmt: skip
    asked = agent.llm.chats[2].messages[-1]["content"]
    assert "For how many?" in asked and f"turn 1 of {MAX_TASK_TURNS}" in asked
    contents = [message["content"] for message in agent.llm.chats[3].messages[1:]]
    assert contents == ["Book a room.", "PARTIAL RESULT\nFor how many?", "For four."]


async def test_a_task_that_waits_can_be_gone_on_with_in_a_later_turn(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Book a room.")])
    agent.llm.enqueue("**Partial result:** for how many?")
    agent.llm.enqueue("For how many people?")
    await agent.asks("I need a room.")
    assert (await agent.run()).status == "waiting"
    agent.llm.enqueue("", calls=[more("For four.")])
    agent.llm.enqueue("Room 12.")
    await agent.asks("Four.")
    assert (await agent.run()).status == "done"


async def test_planner_and_executor_talk_for_ten_turns_at_most(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Guess.")])
    for number in range(MAX_TASK_TURNS - 1):
        agent.llm.enqueue(f"PARTIAL RESULT {number}?")
        agent.llm.enqueue("", calls=[more(f"No, not {number}.")])
    agent.llm.enqueue("PARTIAL RESULT and I do not know")
    agent.llm.enqueue("", calls=[more("Once more.")])
    agent.llm.enqueue("Nobody knows.")
    *_, last = await agent.asks("Guess it.")
    run = await agent.run()
    assert (run.turns, run.status, last.content) == (MAX_TASK_TURNS, "done", "Nobody knows.")
    assert [kind for kind, _ in await agent.steps()][-1] == "result"
    assert (await agent.calls())[-1].error.startswith("No task waits for an answer")


async def test_two_tasks_at_once_are_two_runs_one_after_the_other(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("First."), task("Second.")])
    agent.llm.enqueue("One.")
    agent.llm.enqueue("Two.")
    agent.llm.enqueue("Both.")
    await agent.asks("Do both.")
    rows = [row async for row in AgentRun.objects.values_list("task", "status")]
    assert rows == [("First.", "done"), ("Second.", "done")]
    assert [call.result for call in await agent.calls()] == ["One.", "Two."]


async def test_a_new_task_ends_one_that_waits(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("First.")])
    agent.llm.enqueue("PARTIAL RESULT what?")
    agent.llm.enqueue("", calls=[task("Second.")])
    agent.llm.enqueue("Two.")
    agent.llm.enqueue("Done.")
    await agent.asks("Do it.")
    assert [row async for row in AgentRun.objects.values_list("status", "turns")] == [("done", 1), ("done", 1)]


@pytest.mark.parametrize("how", [{"status": 401}, {"fault": "no_choices", "times": 3}])
async def test_an_executor_that_fails_is_told_to_the_planner_which_goes_on(
    agent: ToolChat, how: dict[str, Any]
) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue(**how)
    *_, last = await agent.asks("What is 4 and 5?")
    run = await agent.run()
    assert (run.status, last.status) == ("failed", "complete")
    assert run.error and (await agent.calls())[0].error == f"The executor could not go on: {run.error}"


async def test_an_executor_that_calls_forever_has_to_answer(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("", times=MAX_REPLY_REQUESTS - 1, calls=[NINE])
    agent.llm.enqueue("Nine.")
    await agent.asks("What is 4 and 5?")
    assert (await agent.run()).status == "done"
    assert (await agent.steps())[-1] == ("result", "Nine.")
    assert agent.llm.chats[MAX_REPLY_REQUESTS].body["tool_choice"] == "none"


async def test_all_requests_of_one_turn_are_bounded(agent: ToolChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conversations.agents.reply_scope.MAX_TURN_REQUESTS", 6)
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("", times=5, calls=[NINE])
    await agent.asks("What is 4 and 5?")
    assert "6 requests" in (await agent.run()).error
    assert len(agent.llm.chats) == 7


async def test_each_flow_is_compressed_by_its_own_budget_and_on_record(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Count the ports.")])
    for number in range(8):
        agent.llm.enqueue(f"Port {number}. " + "word " * 150, calls=[NINE])
    agent.llm.enqueue("Eight ports.")
    await agent.asks("How many ports?")
    run = await agent.run()
    rows = [row async for row in Compaction.objects.values_list("conversation_id", "flow", "status")]
    assert rows and set(rows) == {(run.thread_id, "executor", "succeeded")}
    assert "[Compressed Message Summary]" in agent.llm.chats[-2].text
    assert "Count the ports." in [message["content"] for message in agent.llm.chats[-2].messages]
    assert "[Compressed Message Summary]" not in agent.llm.chats[-1].text


async def test_a_summariser_that_fails_does_not_stop_the_run(agent: ToolChat, profile: ModelProfile) -> None:
    agent.llm.enqueue("", calls=[task("Count the ports.")])
    agent.llm.enqueue_summary(status=500, times=50)
    for number in range(8):
        agent.llm.enqueue(f"Port {number}. " + "word " * 150, calls=[NINE])
    agent.llm.enqueue("Eight ports.")
    *_, last = await agent.asks("How many ports?")
    assert (last.status, (await agent.run()).status) == ("complete", "done")
    rows = [row async for row in Compaction.objects.values_list("status", "summariser")]
    assert rows and {status for status, _ in rows} == {"succeeded"}
    assert profile.name not in {summariser for _, summariser in rows}


async def test_a_run_is_told_on_the_page_of_its_conversation(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("", calls=[NINE])
    agent.llm.enqueue("Nine.")
    with hub.listen(agent.conversation.pk) as listener:
        await agent.asks("What is 4 and 5?")
        heard = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    runs = [event.data["run"] for event in heard if event.type == "run.updated"]
    assert (runs[0]["status"], runs[-1]["status"]) == ("running", "done")
    assert all(run["usage"]["flow"] == "executor" and run["usage"]["budget"] == 600 for run in runs)
    assert runs[-1]["usage"]["history"] > 0
    steps = [event.data["step"] for event in heard if event.type == "step.created"]
    assert [step["kind"] for step in steps][-1] == "result"
    assert {call["status"] for step in steps for call in step["tool_calls"]} == {"pending", "running", "done"}


async def test_a_planner_whose_model_calls_no_tools_just_answers(agent: ToolChat) -> None:
    await ModelProfile.objects.aupdate(calls_tools=False)
    *_, last = await agent.asks("What is 4 and 5?")
    assert last.content == "All right."
    assert "delegate_task" not in agent.llm.last_request.text and "tools" not in agent.llm.last_request.body


# --- Stopped ----------------------------------------------------------------------------------------------------------


async def test_stop_ends_the_executor_and_all_that_it_called(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("Slowly.", delay=30)
    begun = await agent.send("What is 4 and 5?")
    await asyncio.to_thread(agent.llm.wait_for, lambda llm: len(llm.chats) == 2)
    assert await agent.stop()
    *_, last = await agent.turn_ended(begun)
    async with asyncio.timeout(5):
        while (await agent.run()).status == "running":
            await asyncio.sleep(0.01)
    assert (last.status, (await agent.run()).status) == ("stopped", "stopped")
    (call,) = await agent.calls()
    assert (call.status, call.error) == ("failed", "It was stopped.")
    *_, answer = await agent.asks("Go on by yourself.")
    assert answer.content == "All right."
    assert "It was stopped." in agent.llm.last_request.text


async def test_a_task_whose_question_is_edited_is_over(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Book a room.")])
    agent.llm.enqueue("PARTIAL RESULT For how many?")
    begun = await agent.send("I need a room.")
    await agent.turn_ended(begun)
    agent.llm.enqueue("", calls=[more("For four.")])
    edited = await sync_to_async(branches.edit)(agent.conversation, begun.question.pk, content="I need a desk.")
    await agent.turn_ended(edited)
    assert (await agent.run()).status == "done"
    assert (await agent.calls(name="continue_task"))[0].error.startswith("No task waits")


async def test_a_conversation_that_is_deleted_in_the_middle_of_a_run_leaves_nothing(
    agent: ToolChat, caplog: pytest.LogCaptureFixture
) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("Slowly.", delay=0.3)
    await agent.send("What is 4 and 5?")
    await asyncio.to_thread(agent.llm.wait_for, lambda llm: len(llm.chats) == 2)
    await sync_to_async(Conversation.objects.filter(pk=agent.conversation.pk).delete)()
    while running_replies.in_progress:
        await asyncio.sleep(0.01)
    for rows in (Conversation, Message, AgentRun, AgentStep):
        assert not await rows.objects.aexists()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_an_earlier_version_of_a_turn_with_tools_is_used_again_with_its_calls(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add.")])
    agent.llm.enqueue("Nine.")
    begun = await agent.send("What is 4 and 5?")
    await agent.turn_ended(begun)
    edited = await sync_to_async(branches.edit)(agent.conversation, begun.question.pk, content="And 5 and 6?")
    await agent.turn_ended(edited)
    await sync_to_async(versions.use)(agent.conversation, edited.question.pk, number=1)
    await agent.asks("And now?")
    assert [message["role"] for message in agent.llm.last_request.messages] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert agent.llm.last_request.messages[3]["content"] == "Nine."


async def test_what_no_text_may_hold_does_not_reach_the_executor(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("A\0d\ud800d.")])
    await agent.asks("What is 4 and 5?")
    assert (await agent.run()).task == "Ad\ufffdd."


async def test_a_conversation_that_is_deleted_while_it_is_answered_is_no_fault(
    agent: ToolChat, caplog: pytest.LogCaptureFixture
) -> None:
    agent.llm.enqueue("word " * 50, drip=0.01)
    begun = await agent.send("Say something nobody has said.")
    await agent.written(begun.reply, "word")
    await sync_to_async(conversations.delete)(agent.conversation)
    while running_replies.in_progress:
        await asyncio.sleep(0.01)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_task_that_is_too_long_is_told_to_the_planner(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("a" * (MAX_TASK_CHARS + 1))])
    *_, last = await agent.asks("Do it.")
    (call,) = await agent.calls()
    assert (call.status, last.content) == ("failed", "All right.")
    assert call.error == f"task: maxLength is {MAX_TASK_CHARS}."
    assert not await AgentRun.objects.aexists()


async def test_a_tool_of_our_own_that_takes_too_long_is_given_up(
    agent: ToolChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.agents.tools.toolbox.OWN_TOOL_SECONDS", 0.0)
    agent.llm.enqueue("", calls=[("search_history", '{"query": "port"}')])
    *_, last = await agent.asks("Which port?")
    assert (await agent.calls())[0].error == "search_history took longer than 0 s."
    assert last.content == "All right."


async def test_a_result_that_was_cut_off_is_told_as_such_to_the_planner(agent: ToolChat) -> None:
    agent.llm.enqueue("", calls=[task("Add 4 and 5.")])
    agent.llm.enqueue("The sum is", finish_reason="length", usage={"prompt_tokens": 9, "completion_tokens": 1_000})
    agent.llm.enqueue("It is nine.")
    await agent.asks("What is 4 and 5?")
    result = await Message.objects.aget(step__kind="result")
    assert (result.content, result.finish_reason) == ("The sum is", "length")
    told = agent.llm.chats[-1].messages[-1]["content"]
    assert told == "The sum is\n[The executor's answer is not whole: cut off at 1,000 tokens.]"
