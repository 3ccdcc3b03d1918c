"""The goal of a conversation: set by a person, advanced by the reports of summaries, part of the system prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core import goal as goals
from compression.core.goal import Progress
from compression.core.tokens import count_tokens
from compression.models import Snapshot
from conversations.errors import Invalid, NotFound
from conversations.memory import prepared_summary
from conversations.models import Conversation, Goal
from conversations.models.goal import MAX_GOAL_CHARS
from conversations.requests import usage
from conversations.validation import clean_text

Status = Goal.Status
WINDOW_DIVISOR = 8
"""The progress that summaries report may let a goal grow to one part in this many of the window."""


def active_goal(conversation_id: UUID) -> Goal | None:
    """The conversation's active goal, if any."""
    return Goal.objects.filter(conversation_id=conversation_id, status=Status.ACTIVE).first()


@transaction.atomic
def set_goal(
    conversation: Conversation,
    *,
    description: str,
    priority: str = Goal.Priority.NORMAL,
    progress: Progress | None = None,
) -> Goal:
    """Set the active goal, or change the active one's description. Raises Invalid.

    Its progress does not change unless one is given.
    """
    description = clean_text("description", description, limit=MAX_GOAL_CHARS).strip()
    progress = progress and cleaned(progress)
    if priority not in Goal.Priority.values:
        raise Invalid(f"priority: must be one of {', '.join(Goal.Priority.values)}.", field="priority")
    _lock(conversation.pk)
    goal = active_goal(conversation.pk) or Goal(conversation=conversation)
    if goal.description != description:
        _outdate(conversation.pk)
    goal.description, goal.priority = description, priority
    _put(goal, progress_of(goal) if progress is None else progress)
    _settle(goal)
    conversation.goal_text = _text_of(goal)
    return goal


@transaction.atomic
def end_goal(conversation: Conversation, *, status: str) -> None:
    """End the active goal as `completed` or `dropped`: it leaves the system prompt; its row stays. Raises Refused."""
    if status not in (Status.COMPLETED, Status.DROPPED):
        raise Invalid("status: must be completed or dropped.", field="status")
    _lock(conversation.pk)
    goal = active_goal(conversation.pk)
    if goal is None:
        raise NotFound(_("This conversation has no goal."))
    goal.status = status
    _save(goal)
    _outdate(conversation.pk)
    conversation.goal_text = ""


@transaction.atomic
def set_progress(conversation: Conversation, progress: Progress) -> Goal:
    """Replace the progress that summaries reported by a person's, which no undo takes back. Raises Refused."""
    progress = cleaned(progress)
    _lock(conversation.pk)
    goal = active_goal(conversation.pk)
    if goal is None:
        raise NotFound(_("This conversation has no goal."))
    _put(goal, progress)
    _settle(goal)
    conversation.goal_text = _text_of(goal)
    return goal


def cleaned(progress: Progress) -> Progress:
    """The progress with each entry once and on one line. Raises Invalid, naming the invalid entry."""
    steps = [_cleaned(f"checkpoints[{number}]", step, "text") for number, step in enumerate(progress.checkpoints)]
    for number, step in enumerate(steps):
        _require_date(f"checkpoints[{number}].completed_at", step.completed_at)
    decisions = [_cleaned(f"decisions[{number}]", entry, "text") for number, entry in enumerate(progress.decisions)]
    artifacts = [_cleaned(f"artifacts[{number}]", entry, "path") for number, entry in enumerate(progress.artifacts)]
    return Progress(
        tuple({step.text: step for step in steps}.values()),
        tuple({entry.text: entry for entry in decisions}.values()),
        tuple({entry.path: entry for entry in artifacts}.values()),
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


@dataclass(frozen=True, slots=True)
class Advance:
    """Progress to be stored if the goal is unchanged since `read_at`, and the goal's text with it."""

    goal: Goal
    read_at: datetime
    goal_text: str


def advance(conversation_id: UUID, marks: Progress, *, window: int) -> Advance | None:
    """Measure the goal with the progress that a summary reported, within a share of the window; None if none is new."""
    goal = active_goal(conversation_id) if marks else None
    if goal is None:
        return None
    now, read_at = timezone.now().replace(microsecond=0).isoformat(), goal.updated_at
    progress = goals.advanced(progress_of(goal), marks, at=now)
    max_tokens = window // WINDOW_DIVISOR
    _set(goal, goals.fitted(goal.description, goal.priority, progress, max_tokens=max_tokens, count=count_tokens))
    return Advance(goal, read_at, _text_of(goal))


def store(advance: Advance) -> bool:
    """Store the progress in the transaction that commits the summary; False if a person has changed the goal since."""
    goal = advance.goal
    if not Goal.objects.filter(pk=goal.pk, status=Status.ACTIVE, updated_at=advance.read_at).exists():
        return False
    _save(goal)
    return True


def saved_progress(conversation_id: UUID) -> dict[str, Any] | None:
    """The active goal's progress in a snapshot's form; None without a goal."""
    goal = active_goal(conversation_id)
    return {"id": str(goal.pk)} | goals.as_json(progress_of(goal)) if goal else None


def restore(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Undo the progress that compactions since `snapshot` have reported; a person's own changes stay."""
    goal = active_goal(conversation_id)
    if goal is not None:
        _put(goal, progress_at(goal, snapshot))


def progress_at(goal: Goal, snapshot: Snapshot) -> Progress:
    """The goal's progress in `snapshot`; for a goal that is newer, that in the first snapshot with it."""
    states = [snapshot.goal]
    later = Snapshot.objects.filter(conversation_id=goal.conversation_id, created_at__gte=snapshot.created_at)
    states += later.filter(goal__isnull=False).order_by("created_at").values_list("goal", flat=True)
    own = next((state for state in states if state and state["id"] == str(goal.pk)), None)
    return goals.from_json(own) if own else progress_of(goal)


def progress_of(goal: Goal) -> Progress:
    """The goal's progress as the engine's value."""
    return goals.from_json({name: getattr(goal, name) for name in ("checkpoints", "decisions", "artifacts")})


def _put(goal: Goal, progress: Progress) -> None:
    _set(goal, progress)
    _save(goal)


def _set(goal: Goal, progress: Progress) -> None:
    for name, value in goals.as_json(progress).items():
        setattr(goal, name, value)


def _settle(goal: Goal) -> None:
    """Put the person's progress into all snapshots of the goal, so that undoing a compaction does not undo it."""
    own = Snapshot.objects.filter(conversation_id=goal.conversation_id, goal__id=str(goal.pk))
    own.update(goal={"id": str(goal.pk)} | goals.as_json(progress_of(goal)))


def _outdate(conversation_id: UUID) -> None:
    """Discard running and prepared compactions: their marks report on another goal."""
    Conversation.objects.filter(pk=conversation_id).update(compression_version=F("compression_version") + 1)
    prepared_summary.discard_ready(conversation_id)


def _save(goal: Goal) -> None:
    """Save the goal and its rendering on the conversation."""
    goal.updated_at = timezone.now()
    goal.save()
    Conversation.objects.filter(pk=goal.conversation_id).update(goal_text=_text_of(goal))
    transaction.on_commit(partial(usage.publish_usage, goal.conversation_id))


def _text_of(goal: Goal) -> str:
    if goal.status != Status.ACTIVE:
        return ""
    return goals.render_goal(goal.description, goal.priority, progress_of(goal))


def _lock(conversation_id: UUID) -> None:
    """Lock the conversation's row by writing to it; other writers wait until this transaction ends. Raises NotFound."""
    if not Conversation.objects.filter(pk=conversation_id).update(updated_at=timezone.now()):
        raise NotFound(_("No such conversation."))
