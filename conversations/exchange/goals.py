"""A goal in our own export."""

from __future__ import annotations

from typing import Any, get_args

from compression.core.goal import MAX_ENTRIES, MAX_TEXT_CHARS, Action, Artifact, Decision, Progress, Step, StepStatus
from conversations.exchange.document import ImportedGoal
from conversations.exchange.fields import fault, read_choice, read_flag, read_list, read_object, read_text
from conversations.models import Goal
from conversations.models.goal import MAX_GOAL_CHARS

PLACE = "conversation.goal"


def read_goal(value: object) -> ImportedGoal | None:
    """The goal in a file; None if it has none. Raises Invalid, naming the place."""
    if value is None:
        return None
    row = read_object(PLACE, value)
    description = read_text(f"{PLACE}.description", row.get("description"), limit=MAX_GOAL_CHARS)
    if not description.strip():
        raise fault(f"{PLACE}.description", "must not be empty.")
    priorities = tuple(Goal.Priority.values)
    return ImportedGoal(
        description,
        read_choice(f"{PLACE}.priority", row.get("priority", Goal.Priority.NORMAL), priorities),
        Progress(
            tuple(_step(*entry) for entry in _entries(row, "checkpoints")),
            tuple(_decision(*entry) for entry in _entries(row, "decisions")),
            tuple(_artifact(*entry) for entry in _entries(row, "artifacts")),
        ),
    )


def goal_of(goal: Goal) -> dict[str, Any]:
    """A goal in the form that `read_goal` reads."""
    names = ("description", "priority", "checkpoints", "decisions", "artifacts")
    return {name: getattr(goal, name) for name in names}


def _entries(row: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    places = [f"{PLACE}.{kind}[{number}]" for number in range(MAX_ENTRIES)]
    found = read_list(f"{PLACE}.{kind}", row.get(kind, []), limit=MAX_ENTRIES)
    return [(place, read_object(place, entry)) for place, entry in zip(places, found, strict=False)]


def _step(place: str, entry: dict[str, Any]) -> Step:
    status: Any = read_choice(f"{place}.status", entry.get("status", "pending"), get_args(StepStatus))
    completed_at = read_text(f"{place}.completed_at", entry.get("completed_at"), limit=40)
    return Step(_text(place, entry, "text"), status, completed_at)


def _decision(place: str, entry: dict[str, Any]) -> Decision:
    rationale = read_text(f"{place}.rationale", entry.get("rationale"), limit=MAX_TEXT_CHARS)
    return Decision(_text(place, entry, "text"), rationale, read_flag(f"{place}.locked", entry.get("locked")))


def _artifact(place: str, entry: dict[str, Any]) -> Artifact:
    action: Any = read_choice(f"{place}.action", entry.get("action", "created"), get_args(Action))
    return Artifact(_text(place, entry, "path"), action)


def _text(place: str, entry: dict[str, Any], name: str) -> str:
    text = read_text(f"{place}.{name}", entry.get(name), limit=MAX_TEXT_CHARS)
    if not text.strip():
        raise fault(f"{place}.{name}", "must not be empty.")
    return text
