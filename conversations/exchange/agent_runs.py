"""Runs of an agent in our own export: each task, the messages of planner and executor, and the call that began it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from conversations.exchange.document import ImportedRun, ImportedSource, ImportedStep
from conversations.exchange.fields import (
    fault,
    read_choice,
    read_date,
    read_list,
    read_number,
    read_object,
    read_text,
    within,
)
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.models.conversation import MAX_TITLE_CHARS

MAX_RUNS = 10_000
MAX_STEPS = 1_000
MAX_TURNS = 1_000
MAX_ERROR_CHARS = 10_000
CUT_OFF = "This was going on when the conversation was copied."
STATUSES = tuple(AgentRun.Status.values)
KINDS = tuple(AgentStep.Kind.values)

ReadThread = Callable[[dict[str, Any]], ImportedSource]


def runs_of(conversation: Conversation, messages: Iterable[Message], *, prefetch: Sequence[str] = ()) -> list[AgentRun]:
    """The runs that these messages of the planner began, and those whose message is not known."""
    if conversation.kind != Conversation.Kind.AGENT:
        return []
    known = {message.pk for message in messages}
    rows = AgentRun.objects.filter(conversation=conversation).select_related("thread__model")
    found = list(rows.prefetch_related("steps__call", *prefetch))
    begun_by = {row.pk: next((step.call for step in row.steps.all()), None) for row in found}
    return [row for row in found if (call := begun_by[row.pk]) is None or call.message_id in known]


def run_entry(run: AgentRun, thread: dict[str, Any]) -> dict[str, Any]:
    """A run as JSON; `thread` is its conversation as a file."""
    return {
        "task": run.task,
        "status": run.status,
        "turns": run.turns,
        "error": run.error,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at and run.finished_at.isoformat(),
        "steps": [_step_entry(step) for step in run.steps.all()],
        "thread": thread,
    }


def _step_entry(step: AgentStep) -> dict[str, Any]:
    call = step.call
    return {
        "kind": step.kind,
        "message": str(step.message_id),
        "call": {"message": str(call.message_id), "id": call.call_id} if call else None,
    }


def read_runs(raw: object, source: ImportedSource, *, read_thread: ReadThread) -> tuple[ImportedRun, ...]:
    """The runs in a file. Raises Invalid, naming the place."""
    calls = {(line.id, call.call_id): at for at, line in enumerate(source.lines) for call in line.calls}
    runs: list[ImportedRun] = []
    for number, entry in enumerate(read_list("runs", raw, limit=MAX_RUNS)):
        with within(f"runs[{number}]"):
            runs.append(_run(entry, calls, read_thread))
    waiting = [number for number, run in enumerate(runs) if run.status == AgentRun.Status.WAITING]
    if len(waiting) > 1:
        raise fault(f"runs[{waiting[1]}].status", "a second run that waits: an agent has one open at a time.")
    return tuple(runs)


def _run(raw: object, calls: dict[tuple[str | None, str], int], read_thread: ReadThread) -> ImportedRun:
    if not isinstance(raw, dict):
        raise fault("task", "is missing: a run must be an object.")
    status = read_choice("status", raw.get("status"), STATUSES)
    error = read_text("error", raw.get("error"), limit=MAX_ERROR_CHARS)
    if status == AgentRun.Status.RUNNING:
        status, error = AgentRun.Status.FAILED, CUT_OFF
    with within("thread"):
        thread = read_thread(raw["thread"] if isinstance(raw.get("thread"), dict) else {})
    return ImportedRun(
        task=read_text("task", raw.get("task")),
        status=status,
        turns=read_number("turns", raw.get("turns"), low=1, high=MAX_TURNS),
        error=error,
        created=read_date("created_at", raw.get("created_at")),
        finished=read_date("finished_at", raw.get("finished_at")),
        thread=thread,
        steps=_steps(raw.get("steps"), thread, calls),
    )


def _steps(raw: object, thread: ImportedSource, calls: dict[tuple[str | None, str], int]) -> tuple[ImportedStep, ...]:
    entries = read_list("steps", raw, limit=MAX_STEPS)
    if len(entries) != len(thread.lines):
        raise fault("steps", f"there are {len(entries):,} for {len(thread.lines):,} messages of the thread.")
    found: list[ImportedStep] = []
    for number, (entry, line) in enumerate(zip(entries, thread.lines, strict=True)):
        step = read_object(f"steps[{number}]", entry)
        if step.get("message") != line.id:
            raise fault(f"steps[{number}].message", "is not the message of the thread that stands there.")
        kind = read_choice(f"steps[{number}].kind", step.get("kind"), KINDS)
        found.append(ImportedStep(kind, _call(f"steps[{number}].call", step.get("call"), calls)))
    return tuple(found)


def _call(place: str, raw: object, calls: dict[tuple[str | None, str], int]) -> tuple[int, str] | None:
    if raw is None:
        return None
    call = read_object(place, raw)
    message, id = (read_text(f"{place}.{key}", call.get(key), limit=MAX_TITLE_CHARS) for key in ("message", "id"))
    if (message, id) not in calls:
        raise fault(place, "is no call of this conversation.")
    return calls[message, id], id


def store_runs(conversation: Conversation, runs: list[tuple[ImportedRun, Conversation]]) -> None:
    """Store the runs, each with the conversation that its thread became."""
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


def _row(conversation: Conversation, run: ImportedRun, thread: Conversation) -> AgentRun:
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
    """The ids of a thread's messages, in order."""
    rows = Message.objects.filter(conversation=conversation).order_by("created_at")
    return list(rows.values_list("pk", flat=True))
