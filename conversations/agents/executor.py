"""An executor at its task: asked, given what its tools found, asked again, until it answers the planner."""

from __future__ import annotations

import re
from contextlib import aclosing
from functools import partial
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import transaction

from compression.ids import milliseconds_since, uuid7
from conversations.agents import dispatch, runs
from conversations.agents.reply_scope import MAX_REPLY_REQUESTS, Work
from conversations.compaction import trigger
from conversations.context import prompt, request_log
from conversations.context.request_log import Sent
from conversations.context.tools import CONTINUE, MAX_TASK_TURNS
from conversations.context.transcript import Loaded
from conversations.errors import Refused
from conversations.llm.errors import ContextTooLong, ModelError
from conversations.llm.port import Spent
from conversations.llm.profiles import connect, learn_correction
from conversations.llm.tools import ToolFailed, ToolRequest
from conversations.messages import replies, tool_calls
from conversations.models import AgentRun, AgentStep, Message, ModelProfile
from conversations.runtime import endings
from conversations.runtime.retry import retry_on_database_error

Kind, Status = AgentStep.Kind, AgentRun.Status
PARTIAL = re.compile(r"\A[\s*#_>`]*PARTIAL[ _-]RESULT\b[\s*#_:.`-]*", re.IGNORECASE)
"""What a partial result begins with."""
FAILED = "The executor could not go on: {}"


class Answer:
    """One reply of the executor's model, as it comes."""

    def __init__(self, sent: Sent) -> None:
        self.id: UUID = uuid7()
        self.sent = sent
        self.text = ""
        self.calls: tuple[ToolRequest, ...] = ()
        self.spent: Spent | None = None
        self.first_token_ms: int | None = None
        self.finish_reason = ""

    async def read(self) -> None:
        """Raises ModelError."""
        pieces: list[str] = []
        async with aclosing(connect(self.sent.profile, used=self.sent.used).stream(self.sent.prompt)) as deltas:
            async for delta in deltas:
                if delta.text and not pieces:
                    self.first_token_ms = milliseconds_since(self.id)
                pieces.append(delta.text)
                self.calls = delta.calls or self.calls
                self.spent = delta.spent or self.spent
                self.finish_reason = delta.finish_reason or self.finish_reason
        self.text = "".join(pieces)


async def go_on(work: Work, run: AgentRun) -> str:
    """Until it has answered: what the planner is told. Raises ToolFailed where it cannot, and LeaseLost."""
    if run.status == Status.FAILED:  # a worker stopped before it had said so
        raise ToolFailed(FAILED.format(run.error))
    try:
        for left in reversed(range(MAX_REPLY_REQUESTS)):
            if told := await sync_to_async(_told)(run):
                return told
            await _step(work, run, may_call=left > 0)
        return await sync_to_async(_told)(run) or _failed("it does not stop calling tools")
    except (ModelError, Refused, ToolFailed) as fault:
        reason = str(fault)
        await retry_on_database_error(partial(_fail, work, run, reason))
        raise ToolFailed(FAILED.format(reason)) from None


def _failed(why: str) -> str:
    raise ToolFailed(why)


async def _step(work: Work, run: AgentRun, *, may_call: bool) -> None:
    """One request, its answer stored; the calls of the last answer are carried out before."""
    await sync_to_async(replies.settle_model)(run.thread_id)
    loaded = await trigger.ensure_room(run.thread_id)
    if loaded.is_at_tools and await dispatch.carry_out(work, loaded):
        loaded = await trigger.ensure_room(run.thread_id)
    await sync_to_async(runs.publish_run)(run)
    try:
        answer = await _asked(work, loaded, may_call=may_call)
    except ContextTooLong:
        loaded = await trigger.ensure_room(run.thread_id, overflowed=True)
        answer = await _asked(work, loaded, may_call=may_call)
    await retry_on_database_error(partial(_store, work, run, answer))


async def _asked(work: Work, loaded: Loaded, *, may_call: bool) -> Answer:
    work.ask()
    profile = await ModelProfile.objects.aget(pk=loaded.head.profile_id or 0)
    answer = Answer(Sent(loaded, prompt.assemble(loaded, may_call=may_call), profile))
    await answer.read()
    return answer


def _store(work: Work, run: AgentRun, answer: Answer) -> None:
    sent, spent = answer.sent, answer.spent
    with transaction.atomic():
        work.hold()
        message = Message.objects.create(
            id=answer.id,
            conversation_id=run.thread_id,
            role=Message.Role.ASSISTANT,
            content=answer.text,
            finish_reason=endings.kept(answer.finish_reason),
            created_at=runs.next_step_moment(run),
            token_count=tool_calls.tokens_of(answer.text, answer.calls),
            first_token_ms=answer.first_token_ms,
            duration_ms=milliseconds_since(answer.id),
            **request_log.note(sent),
            **request_log.paid(sent.profile, spent),
        )
        tool_calls.store(message, answer.calls)
        runs.answer(run, _kind(run, answer), message)
    if spent:
        learn_correction(sent.profile, sent.loaded.head.owner_id, estimated=sent.estimated, reported=spent.prompt)


def _kind(run: AgentRun, answer: Answer) -> str:
    if answer.calls:
        return Kind.TOOLS
    return Kind.PARTIAL if PARTIAL.match(answer.text) and run.turns < MAX_TASK_TURNS else Kind.RESULT


def _told(run: AgentRun) -> str:
    """What the planner hears of the last step; "" where that is no answer to it."""
    step = runs.last_step(run)
    text = PARTIAL.sub("", step.message.content, count=1)
    if step.kind == Kind.PARTIAL:
        return (
            f"PARTIAL RESULT (turn {run.turns} of {MAX_TASK_TURNS})\n{text}\n"
            f"[The executor waits: answer it with {CONTINUE}, or go on without it.]"
        )
    if step.kind != Kind.RESULT:
        return ""
    why = endings.told(step.message)
    return (text or "It answered nothing.") + (f"\n[The executor's answer is not whole: {why}.]" if why else "")


def _fail(work: Work, run: AgentRun, reason: str) -> None:
    with transaction.atomic():
        work.hold()
        runs.end(run, Status.FAILED, error=reason)
