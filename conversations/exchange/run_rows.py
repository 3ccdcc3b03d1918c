"""Runs out of a file become rows, once the messages that they speak of are stored."""

from __future__ import annotations

from uuid import UUID

from conversations.exchange.source import Run
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall


def store_runs(conversation: Conversation, runs: list[tuple[Run, Conversation]]) -> None:
    """Each with the conversation that its thread became."""
    if not runs:
        return
    places = _ids(conversation)
    rows = ToolCall.objects.filter(message__conversation=conversation)
    calls = {(message, id): pk for pk, message, id in rows.values_list("pk", "message_id", "call_id")}
    for run, thread in runs:
        row = _row(conversation, run, thread)
        row.save(force_insert=True)
        AgentStep.objects.bulk_create(
            AgentStep(
                run=row,
                number=number,
                kind=step.kind,
                message_id=message,
                call_id=calls.get((places[step.call[0]], step.call[1])) if step.call else None,
            )
            for number, (step, message) in enumerate(zip(run.steps, _ids(thread), strict=True), start=1)
        )


def _row(conversation: Conversation, run: Run, thread: Conversation) -> AgentRun:
    return AgentRun(
        conversation=conversation,
        thread=thread,
        task=run.task,
        status=run.status,
        turns=run.turns,
        error=run.error,
        created_at=run.created or thread.created_at,
        finished_at=run.finished,
    )


def _ids(conversation: Conversation) -> list[UUID]:
    """Of its messages, in order."""
    rows = Message.objects.filter(conversation=conversation).order_by("created_at")
    return list(rows.values_list("pk", flat=True))
