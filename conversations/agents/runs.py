"""Stores an agent's runs: begun with a task, extended step by step, ended once; publishes each change."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from conversations.agents.reply_scope import Work
from conversations.context import transcript
from conversations.context.provenance import PLANNED
from conversations.context.tools import MAX_TASK_TURNS
from conversations.llm.tools import ToolFailed
from conversations.messages import replies
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.requests import usage
from conversations.runtime.event_types import EventType
from conversations.runtime.events import hub, publish
from conversations.runtime.payloads import run_with_usage_json, step_json

Status, Kind = AgentRun.Status, AgentStep.Kind
TITLE = 80
"""The most characters of a thread's title, which is the beginning of its task."""
INHERITED = ("owner_id", "model_id", "mode")


def begun_by(work: Work, call_id: str) -> AgentRun | None:
    """The run that a call of the planner's last message has begun or continued already, before a worker stopped."""
    steps = AgentStep.objects.filter(call=_call(work, call_id))
    step = steps.select_related("run__thread").first()
    return step.run if step else None


def begin(work: Work, call_id: str, task: str) -> AgentRun:
    """Store a new run with its thread and assignment; a run that still waits for the planner is ended."""
    with transaction.atomic():
        work.hold()
        close(work.conversation_id)
        parent = Conversation.objects.get(pk=work.conversation_id)
        thread = Conversation.objects.create(
            kind=Conversation.Kind.EXECUTOR,
            parent=parent,
            title=task[:TITLE],
            **{name: getattr(parent, name) for name in INHERITED},
        )
        run = AgentRun.objects.create(conversation=parent, thread=thread, task=task)
        _add_step(run, Kind.ASSIGNMENT, task, call=_call(work, call_id), is_protected=True)
        publish_run(run)
    return run


def clarify(work: Work, call_id: str, message: str) -> AgentRun:
    """Answer the waiting executor. Raises ToolFailed if none waits or its turns are used up."""
    with transaction.atomic():
        work.hold()
        run = open_run(work.conversation_id)
        if run is None or run.status != Status.WAITING:
            raise ToolFailed("No task waits for an answer. Hand one over with delegate_task.")
        if run.turns >= MAX_TASK_TURNS:
            raise ToolFailed(f"All {MAX_TASK_TURNS} turns of this task are used: go on with what there is.")
        run.turns += 1
        run.status = Status.RUNNING
        run.save(update_fields=["turns", "status"])
        model = Conversation.objects.filter(pk=run.conversation_id).values("model")
        Conversation.objects.filter(pk=run.thread_id).update(model=model, updated_at=timezone.now())
        _add_step(run, Kind.CLARIFICATION, message, call=_call(work, call_id))
        publish_run(run)
    return run


def answer(run: AgentRun, kind: str, message: Message) -> AgentStep:
    """Store an executor's step for its stored message; a result ends the run. The caller has called `work.hold`."""
    found = _step(run, kind, message)
    if kind == Kind.RESULT:
        end(run, Status.DONE)
    elif kind == Kind.PARTIAL:
        run.status = Status.WAITING
        run.save(update_fields=["status"])
        publish_run(run)
    return found


def end(run: AgentRun, status: str, *, error: str = "") -> None:
    run.status, run.error, run.finished_at = status, error, timezone.now()
    run.save(update_fields=["status", "error", "finished_at"])
    publish_run(run)


def open_run(conversation_id: UUID) -> AgentRun | None:
    rows = AgentRun.objects.filter(conversation=conversation_id, status__in=AgentRun.OPEN)
    return rows.select_related("thread").first()


def close(conversation_id: UUID) -> None:
    """End the conversation's open run, if any, because the planner has turned to something else."""
    if run := open_run(conversation_id):
        end(run, Status.DONE if run.status == Status.WAITING else Status.STOPPED)


def stop(conversation_id: UUID) -> list[UUID]:
    """End the run whose executor is working; returns its thread's id, or nothing if no executor is working."""
    run = open_run(conversation_id)
    if run is None or run.status != Status.RUNNING:
        return []
    end(run, Status.STOPPED)
    return [run.thread_id]


def last_step(run: AgentRun) -> AgentStep:
    return run.steps.select_related("message").latest("number")


def publish_run(run: AgentRun) -> None:
    """Publish, after the commit, a run's state and how much of its budget the executor uses."""
    if hub.is_heard(run.conversation_id):
        used = usage.flow_usage(transcript.load(run.thread_id))
        payload = run_with_usage_json(run, used)
        transaction.on_commit(partial(publish, run.conversation_id, EventType.RUN_UPDATED, run=payload))


def publish_step(message_id: UUID) -> None:
    """Publish, after the commit, a step as it is now; its text is cut to the length of tool results for a model."""
    step = AgentStep.objects.select_related("run__thread__model", "message").filter(message=message_id).first()
    if step and hub.is_heard(step.run.conversation_id):
        payload = step_json(step, step.run.thread.window, most=settings.TOOL_RESULT_MAX_CHARS)
        where = {"run_id": str(step.run_id), "step": payload}
        transaction.on_commit(partial(publish, step.run.conversation_id, EventType.STEP_CREATED, **where))


def _add_step(run: AgentRun, kind: str, content: str, *, call: ToolCall | None, **fields: Any) -> None:
    """Store a planner's message to the executor, with the role of a user, and its step."""
    message = Message.objects.create(
        conversation_id=run.thread_id,
        role=Message.Role.USER,
        content=content,
        token_count=transcript.message_tokens(content),
        created_at=next_step_moment(run),
        origin=PLANNED,
        **fields,
    )
    _step(run, kind, message, call=call)


def next_step_moment(run: AgentRun) -> datetime:
    return replies.next_moment(run.thread_id)


def _step(run: AgentRun, kind: str, message: Message, *, call: ToolCall | None = None) -> AgentStep:
    step = AgentStep.objects.create(run=run, number=run.steps.count() + 1, kind=kind, message=message, call=call)
    publish_step(message.pk)
    return step


def _call(work: Work, call_id: str) -> ToolCall | None:
    """The call with this id in the planner's last message with calls."""
    rows = ToolCall.objects.filter(message__conversation=work.conversation_id, call_id=call_id)
    return rows.order_by("-message__created_at", "-id").first()
