"""Runs an executor on its task: asks its model and carries out its tool calls until it answers the planner."""

from __future__ import annotations

import re
from functools import partial

from asgiref.sync import sync_to_async
from django.db import transaction

from compression.ids import milliseconds_since, uuid7
from conversations.agents import runs
from conversations.agents.ask_model import ask_model, prepare_request
from conversations.agents.reply_scope import MAX_REPLY_REQUESTS, Work
from conversations.compaction import trigger
from conversations.context.tools import CONTINUE, MAX_TASK_TURNS
from conversations.errors import Refused
from conversations.llm.errors import ModelError
from conversations.llm.tools import ToolFailed
from conversations.messages import tool_calls
from conversations.messages.answer import Answer
from conversations.models import AgentRun, AgentStep, Message
from conversations.runtime import end_reasons
from conversations.runtime.retry import retry_on_database_error

Kind, Status = AgentStep.Kind, AgentRun.Status
PARTIAL = re.compile(r"\A[\s*#_>`]*PARTIAL[ _-]RESULT\b[\s*#_:.`-]*", re.IGNORECASE)
"""Matches the beginning of a partial result."""
FAILED = "The executor could not go on: {}"


async def go_on(work: Work, run: AgentRun) -> str:
    """Run the executor until it answers; returns its answer for the planner. Raises ToolFailed and LeaseLost."""
    if run.status == Status.FAILED:  # a worker stopped before it had stored that as the call's result
        raise ToolFailed(FAILED.format(run.error))
    try:
        for left in reversed(range(MAX_REPLY_REQUESTS)):
            if told := await sync_to_async(_answer_of)(run):
                return told
            await _step(work, run, may_call=left > 0)
        return await sync_to_async(_answer_of)(run) or _failed("it does not stop calling tools")
    except (ModelError, Refused, ToolFailed) as fault:
        reason = str(fault)
        await retry_on_database_error(partial(_fail, work, run, reason))
        raise ToolFailed(FAILED.format(reason)) from None


def _failed(why: str) -> str:
    raise ToolFailed(why)


async def _step(work: Work, run: AgentRun, *, may_call: bool) -> None:
    """Carry out the tool calls of the last answer, make one request and store its answer."""

    def count_request() -> bool:
        work.ask()
        return may_call

    make_room = partial(trigger.ensure_room, run.thread_id)
    loaded = await prepare_request(run.thread_id, work, make_room=make_room)
    await sync_to_async(runs.publish_run)(run)
    answer = Answer(uuid7())
    await ask_model(answer, loaded, make_room=make_room, count_request=count_request, thoughts=work.thoughts)
    await retry_on_database_error(partial(_store, work, run, answer))


def _store(work: Work, run: AgentRun, answer: Answer) -> None:
    with transaction.atomic():
        work.hold()
        message = Message.objects.create(
            id=answer.id,
            conversation_id=run.thread_id,
            role=Message.Role.ASSISTANT,
            created_at=runs.next_step_moment(run),
            token_count=answer.tokens(),
            duration_ms=milliseconds_since(answer.id),
            **answer.columns(),
        )
        tool_calls.store(message, answer.calls)
        runs.answer(run, _kind(run, answer), message)
    answer.teach_profile()


def _kind(run: AgentRun, answer: Answer) -> str:
    if answer.calls:
        return Kind.TOOLS
    return Kind.PARTIAL if PARTIAL.match(answer.text) and run.turns < MAX_TASK_TURNS else Kind.RESULT


def _answer_of(run: AgentRun) -> str:
    """The last step's answer to the planner; "" if that step is not an answer."""
    step = runs.last_step(run)
    text = PARTIAL.sub("", step.message.content, count=1)
    if step.kind == Kind.PARTIAL:
        return (
            f"PARTIAL RESULT (turn {run.turns} of {MAX_TASK_TURNS})\n{text}\n"
            f"[The executor waits: answer it with {CONTINUE}, or go on without it.]"
        )
    if step.kind != Kind.RESULT:
        return ""
    why = end_reasons.cut_off_note(step.message)
    return (text or "It answered nothing.") + (f"\n[The executor's answer is not whole: {why}.]" if why else "")


def _fail(work: Work, run: AgentRun, reason: str) -> None:
    with transaction.atomic():
        work.hold()
        runs.end(run, Status.FAILED, error=reason)
