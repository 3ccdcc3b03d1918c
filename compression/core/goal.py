"""A goal's progress: parses it from the marks in a summary, updates it, and renders it for the system prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from compression.core.tokens import TokenCounter

StepStatus = Literal["pending", "in-progress", "completed"]
Action = Literal["created", "modified", "deleted"]

MAX_TEXT_CHARS = 240
"""Longer texts of steps, decisions and artifacts are cut to this length."""
MAX_ENTRIES = 50
"""The most steps, decisions or artifacts that are kept.

Beyond that, completed steps, decisions that are not locked, and the oldest artifacts are dropped first.
"""

MAX_MARK_CHARS = 1_000
"""The number of compared characters of a mark in a text that the summariser did not write."""

_MARK = re.compile(
    r"^[ \t]*+(?:[-*+][ \t]++)?+\[(CHECKPOINT|DECISION|ARTIFACT)\][ \t]*+(\S.*+)?$", re.MULTILINE
)  # Trailing blanks are part of the match: excluding them would make the pattern backtrack at each blank.
_ANYWHERE = re.compile(r"\[(CHECKPOINT|DECISION|ARTIFACT)\]([^\n\[]*)", re.IGNORECASE)
_STATUS = re.compile(rf"(?<=\s)-\s++({'|'.join(get_args(StepStatus))})\s*+\Z", re.IGNORECASE)
_LOCKED = re.compile(r"(?<=\s)-\s++LOCKED\s*+\Z")
_ACTION = re.compile(rf"\A({'|'.join(get_args(Action))})\s+(\S.*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Step:
    """A step towards the goal, marked CHECKPOINT. `completed_at` is an ISO 8601 date, "" until it is completed."""

    text: str
    status: StepStatus = "pending"
    completed_at: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision made on the way to the goal; a locked one must not be reopened."""

    text: str
    rationale: str = ""
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that was created, modified or deleted for the goal."""

    path: str
    action: Action = "created"


@dataclass(frozen=True, slots=True)
class Progress:
    """The steps, decisions and artifacts of a goal, or those that the marks of one summary report."""

    checkpoints: tuple[Step, ...] = ()
    decisions: tuple[Decision, ...] = ()
    artifacts: tuple[Artifact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.decisions or self.artifacts)

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.checkpoints + other.checkpoints, self.decisions + other.decisions, self.artifacts + other.artifacts
        )


def parse_marks(summary: str) -> tuple[str, Progress]:
    """Split a summary into its text without marks, and the progress that the marks report.

    A mark is a line: `[CHECKPOINT] text - COMPLETED|IN-PROGRESS|PENDING`, `[DECISION] text: rationale - LOCKED`, or
    `[ARTIFACT] Created|Modified|Deleted path`.
    """
    marks_found = [_mark(kind, text.rstrip(" \t")) for kind, text in _MARK.findall(summary)]
    marks = Progress(
        tuple(step for mark in marks_found for step in mark.checkpoints),
        tuple(decision for mark in marks_found for decision in mark.decisions),
        tuple(artifact for mark in marks_found for artifact in mark.artifacts),
    )
    return re.sub(r"\n{3,}", "\n\n", _MARK.sub("", summary)).strip(), marks


def marks_in(texts: Iterable[str]) -> Progress:
    """The progress that all marks in the texts report, wherever a mark is on its line; time is linear in the texts."""
    found = {
        (kind.upper(), " ".join(words[:MAX_MARK_CHARS].split()))
        for text in texts
        for kind, words in _ANYWHERE.findall(text)
    }
    marks = [_mark(*each) for each in found]
    return Progress(
        tuple(step for mark in marks for step in mark.checkpoints),
        tuple(decision for mark in marks for decision in mark.decisions),
        tuple(artifact for mark in marks for artifact in mark.artifacts),
    )


def without_quoted_marks(marks: Progress, quoted: Progress) -> Progress:
    """The marks without those that repeat a quoted step, decision or path, with any status."""
    steps = {_compared(step.text) for step in quoted.checkpoints}
    decisions = {_compared(decision.text) for decision in quoted.decisions}
    paths = {_compared(artifact.path) for artifact in quoted.artifacts}
    return Progress(
        tuple(step for step in marks.checkpoints if _compared(step.text) not in steps),
        tuple(decision for decision in marks.decisions if _compared(decision.text) not in decisions),
        tuple(artifact for artifact in marks.artifacts if _compared(artifact.path) not in paths),
    )


def unmarked(summary: str) -> str:
    """The summary with each mark as a plain list item without its bracket, for a conversation without a goal."""
    return _MARK.sub(lambda found: f"- {found[2].rstrip(' \t')}" if found[2] else "", summary)


def advanced(progress: Progress, marks: Progress, *, at: str) -> Progress:
    """The progress updated by `marks`: entries with equal texts (or paths) are the same entry.

    `at` (ISO 8601) becomes the date of newly completed steps. A locked decision keeps its rationale and stays locked.
    """
    steps = {step.text: step for step in progress.checkpoints}
    for step in marks.checkpoints:
        before = steps.get(step.text)
        completed_at = (before.completed_at if before else "") or at
        steps[step.text] = replace(step, completed_at=completed_at if step.status == "completed" else "")
    decisions = {decision.text: decision for decision in progress.decisions}
    for decision in marks.decisions:
        old = decisions.get(decision.text, decision)
        rationale = old.rationale if old.locked else decision.rationale or old.rationale
        decisions[decision.text] = Decision(decision.text, rationale, locked=old.locked or decision.locked)
    artifacts = {artifact.path: artifact for artifact in progress.artifacts + marks.artifacts}
    return Progress(
        _at_most(steps.values(), [step.text for step in steps.values() if step.status == "completed"]),
        _at_most(decisions.values(), [one.text for one in decisions.values() if not one.locked]),
        tuple(artifacts.values())[-MAX_ENTRIES:],
    )


def fitted(description: str, priority: str, progress: Progress, *, max_tokens: int, count: TokenCounter) -> Progress:
    """The progress shortened until the rendered goal takes at most `max_tokens`, or nothing more can be dropped.

    Entries are dropped in this order: artifacts, completed steps, unlocked decisions, open steps, locked decisions.
    """
    steps, decisions, artifacts = progress.checkpoints, progress.decisions, progress.artifacts
    order: list[Step | Decision | Artifact] = [
        *artifacts,
        *(step for step in steps if step.status == "completed"),
        *(decision for decision in decisions if not decision.locked),
        *(step for step in steps if step.status != "completed"),
        *(decision for decision in decisions if decision.locked),
    ]
    gone: set[Step | Decision | Artifact] = set()
    while order and count(render_goal(description, priority, progress)) > max_tokens:
        gone.add(order.pop(0))
        progress = Progress(
            tuple(step for step in steps if step not in gone),
            tuple(decision for decision in decisions if decision not in gone),
            tuple(artifact for artifact in artifacts if artifact not in gone),
        )
    return progress


def render_goal(description: str, priority: str, progress: Progress) -> str:
    """The goal and its progress as a section of the system prompt."""
    lines = [f"# Goal{f' ({priority} priority)' if priority != 'normal' else ''}", description]
    by_status = [
        (label, [step.text for step in progress.checkpoints if step.status == status])
        for status, label in (("completed", "Done"), ("in-progress", "In progress"), ("pending", "Pending"))
    ]
    lines += [f"{label}: {'; '.join(texts)}" for label, texts in by_status if texts]
    lines += [_decided(decision) for decision in progress.decisions]
    lines += [f"{artifact.action.capitalize()}: {artifact.path}" for artifact in progress.artifacts]
    return "\n".join(lines)


def as_json(progress: Progress) -> dict[str, list[dict[str, Any]]]:
    """The progress as plain JSON, for storage and the API; `from_json` is its inverse."""
    return {
        "checkpoints": [asdict(step) for step in progress.checkpoints],
        "decisions": [asdict(decision) for decision in progress.decisions],
        "artifacts": [asdict(artifact) for artifact in progress.artifacts],
    }


def from_json(saved: Mapping[str, Any]) -> Progress:
    """The progress that `as_json` saved."""
    return Progress(
        tuple(Step(**row) for row in saved["checkpoints"]),
        tuple(Decision(**row) for row in saved["decisions"]),
        tuple(Artifact(**row) for row in saved["artifacts"]),
    )


def _mark(kind: str, text: str) -> Progress:
    """The progress that one mark reports; empty if the mark has no text."""
    if not text:
        return Progress()
    if kind == "CHECKPOINT":
        match = _STATUS.search(text)
        status: Any = match[1].lower() if match else "pending"
        words = _cut(text[: match.start()] if match else text)
        return Progress(checkpoints=(Step(words, status),)) if words else Progress()
    if kind == "DECISION":
        words, _, rationale = _LOCKED.sub("", text).partition(": ")
        decision = Decision(_cut(words), _cut(rationale), bool(_LOCKED.search(text)))
        return Progress(decisions=(decision,)) if decision.text else Progress()
    match_action = _ACTION.match(text)
    if match_action is None and len(text.split()) > 1:
        return Progress()  # a verb that is none of them: what it says of the file is not known
    action: Any = match_action[1].lower() if match_action else "created"
    path = _cut(match_action[2] if match_action else text).strip("` ")
    return Progress(artifacts=(Artifact(path, action),)) if path else Progress()


def _compared(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!; ")


def _cut(text: str) -> str:
    return " ".join(text.split())[:MAX_TEXT_CHARS]


def _at_most[Item: (Step, Decision)](items: Iterable[Item], expendable: list[str]) -> tuple[Item, ...]:
    """At most MAX_ENTRIES items, in order: the oldest expendable ones are dropped first, then the newest of all."""
    kept = list(items)
    dropped = set(expendable[: max(len(kept) - MAX_ENTRIES, 0)])
    return tuple(item for item in kept if item.text not in dropped)[:MAX_ENTRIES]


def _decided(decision: Decision) -> str:
    because = f" ({decision.rationale})" if decision.rationale else ""
    return f"Decided{', and not to be reopened' if decision.locked else ''}: {decision.text}{because}"
