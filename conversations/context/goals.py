"""The goal of a conversation: set by a person, advanced by what summaries report, part of the system prompt."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from compression.core import goal as goals
from compression.core.goal import Progress
from compression.core.tokens import count_tokens
from compression.models import Snapshot
from conversations.context import usage, version
from conversations.errors import Invalid, NotFound
from conversations.models import Conversation, Goal
from conversations.models.goal import MAX_GOAL_CHARS
from conversations.validation import clean_text

Status = Goal.Status
WINDOW_SHARE = 8
"""The part of the window, one in so many, that a goal may take by what summaries report of it."""


def active(conversation_id: UUID) -> Goal | None:
    return Goal.objects.filter(conversation_id=conversation_id, status=Status.ACTIVE).first()


@transaction.atomic
def set_goal(
    conversation: Conversation,
    *,
    description: str,
    priority: str = Goal.Priority.NORMAL,
    progress: Progress | None = None,
) -> Goal:
    """Make `description` the active goal, or change the active one's words. Raises Invalid.

    Its progress stays as it is unless one is given.
    """
    description = clean_text("description", description, limit=MAX_GOAL_CHARS).strip()
    progress = progress and cleaned(progress)
    if priority not in Goal.Priority.values:
        raise Invalid(f"priority: must be one of {', '.join(Goal.Priority.values)}.", field="priority")
    _lock(conversation.pk)
    goal = active(conversation.pk) or Goal(conversation=conversation)
    if goal.description != description:
        _outdate(conversation.pk)
    goal.description, goal.priority = description, priority
    _put(goal, progress_of(goal) if progress is None else progress)
    _settle(goal)
    conversation.goal_text = _text_of(goal)
    return goal


@transaction.atomic
def end_goal(conversation: Conversation, *, status: str) -> None:
    """The active goal is `completed` or `dropped`: it leaves the system prompt and stays on record. Raises Refused."""
    if status not in (Status.COMPLETED, Status.DROPPED):
        raise Invalid("status: must be completed or dropped.", field="status")
    _lock(conversation.pk)
    goal = active(conversation.pk)
    if goal is None:
        raise NotFound("This conversation has no goal.")
    goal.status = status
    _save(goal)
    _outdate(conversation.pk)
    conversation.goal_text = ""


@transaction.atomic
def set_progress(conversation: Conversation, progress: Progress) -> Goal:
    """What a person says of the progress takes the place of what summaries reported, for good. Raises Refused."""
    progress = cleaned(progress)
    _lock(conversation.pk)
    goal = active(conversation.pk)
    if goal is None:
        raise NotFound("This conversation has no goal.")
    _put(goal, progress)
    _settle(goal)
    conversation.goal_text = _text_of(goal)
    return goal


def cleaned(progress: Progress) -> Progress:
    """Each thing once, in one line, with a date only where there is one. Raises Invalid, naming what cannot be."""
    steps = [_cleaned(f"checkpoints[{number}]", step, "text") for number, step in enumerate(progress.checkpoints)]
    for number, step in enumerate(steps):
        _require_date(f"checkpoints[{number}].completed_at", step.completed_at)
    decisions = [_cleaned(f"decisions[{number}]", one, "text") for number, one in enumerate(progress.decisions)]
    artifacts = [_cleaned(f"artifacts[{number}]", one, "path") for number, one in enumerate(progress.artifacts)]
    return Progress(
        tuple({step.text: step for step in steps}.values()),
        tuple({one.text: one for one in decisions}.values()),
        tuple({one.path: one for one in artifacts}.values()),
    )


def _cleaned[Item: (goals.Step, goals.Decision, goals.Artifact)](place: str, item: Item, name: str) -> Item:
    words = clean_text(f"{place}.{name}", getattr(item, name), limit=goals.MAX_TEXT_CHARS)
    changed: dict[str, Any] = {name: " ".join(words.split())}
    if isinstance(item, goals.Decision):
        why = clean_text(f"{place}.rationale", item.rationale, limit=goals.MAX_TEXT_CHARS, allow_blank=True)
        changed["rationale"] = " ".join(why.split())
    return replace(item, **changed)


def _require_date(place: str, text: str) -> None:
    try:
        if text:
            datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{place}: must be a date such as 2026-11-21T09:30:00Z, or empty.", field=place) from None


def advance(conversation_id: UUID, marks: Progress, *, window: int) -> None:
    """Take up what a summary reported, as far as a share of the window goes; in the transaction that commits it."""
    goal = active(conversation_id) if marks else None
    if goal is not None:
        now = timezone.now().replace(microsecond=0).isoformat()
        progress = goals.advanced(progress_of(goal), marks, at=now)
        most = window // WINDOW_SHARE
        _put(
            goal,
            goals.fitted(goal.description, goal.priority, progress, max_tokens=most, count=count_tokens),
        )


def saved(conversation_id: UUID) -> dict[str, Any] | None:
    """The progress of the active goal, as a snapshot keeps it."""
    goal = active(conversation_id)
    return {"id": str(goal.pk)} | goals.as_json(progress_of(goal)) if goal else None


def restore(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Take back what compactions since `snapshot` have reported; what a person wrote stays."""
    goal = active(conversation_id)
    if goal is not None:
        _put(goal, progress_at(goal, snapshot))


def progress_at(goal: Goal, snapshot: Snapshot) -> Progress:
    """As `snapshot` has it; of a goal that was set after it, as the first compaction after that found it."""
    states = [snapshot.goal]
    later = Snapshot.objects.filter(conversation_id=goal.conversation_id, created_at__gte=snapshot.created_at)
    states += later.filter(goal__isnull=False).order_by("created_at").values_list("goal", flat=True)
    own = next((state for state in states if state and state["id"] == str(goal.pk)), None)
    return goals.from_json(own) if own else progress_of(goal)


def progress_of(goal: Goal) -> Progress:
    return goals.from_json({name: getattr(goal, name) for name in ("checkpoints", "decisions", "artifacts")})


def _put(goal: Goal, progress: Progress) -> None:
    for name, value in goals.as_json(progress).items():
        setattr(goal, name, value)
    _save(goal)


def _settle(goal: Goal) -> None:
    """What a person wrote is not undone with a compaction: the states to go back to have it too."""
    own = Snapshot.objects.filter(conversation_id=goal.conversation_id, goal__id=str(goal.pk))
    own.update(goal={"id": str(goal.pk)} | goals.as_json(progress_of(goal)))


def _outdate(conversation_id: UUID) -> None:
    """Have what is being summarised, or is ready, discarded: its marks are of another goal."""
    Conversation.objects.filter(pk=conversation_id).update(compression_version=F("compression_version") + 1)
    version.discard_ready(conversation_id)


def _save(goal: Goal) -> None:
    """The row, and its rendering on the conversation."""
    goal.updated_at = timezone.now()
    goal.save()
    Conversation.objects.filter(pk=goal.conversation_id).update(goal_text=_text_of(goal))
    transaction.on_commit(partial(usage.publish_usage, goal.conversation_id))


def _text_of(goal: Goal) -> str:
    if goal.status != Status.ACTIVE:
        return ""
    return goals.render_goal(goal.description, goal.priority, progress_of(goal))


def _lock(conversation_id: UUID) -> None:
    """By a write: what follows in this transaction nobody else does at the same time."""
    Conversation.objects.filter(pk=conversation_id).update(updated_at=timezone.now())
