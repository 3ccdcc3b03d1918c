"""A goal's progress: read from the marks in a summary, and rendered for the system prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from compression.core.ports import TokenCounter

StepStatus = Literal["pending", "in-progress", "completed"]
Action = Literal["created", "modified", "deleted"]

LONGEST = 240
"""Characters of a text; longer ones are cut."""
MOST = 50
"""Steps, decisions and artifacts of each kind: beyond that what is done, open to change or oldest goes first."""

MARK_LOOKED_AT = 1_000
"""Characters of a mark in a text that is not the summariser's own."""

_MARK = re.compile(
    r"^[ \t]*+(?:[-*+][ \t]++)?+\[(CHECKPOINT|DECISION|ARTIFACT)\][ \t]*+(\S.*+)?$", re.MULTILINE
)  # with the blanks at its end: a pattern that left them out would look for that end at each of them
_ANYWHERE = re.compile(r"\[(CHECKPOINT|DECISION|ARTIFACT)\]([^\n\[]*)", re.IGNORECASE)
_STATUS = re.compile(rf"(?<=\s)-\s++({'|'.join(get_args(StepStatus))})\s*+\Z", re.IGNORECASE)
_LOCKED = re.compile(r"(?<=\s)-\s++LOCKED\s*+\Z")
_ACTION = re.compile(rf"\A({'|'.join(get_args(Action))})\s+(\S.*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Step:
    """A checkpoint of the goal. `completed_at` is a date in ISO 8601, "" for one that is not completed."""

    text: str
    status: StepStatus = "pending"
    completed_at: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    text: str
    rationale: str = ""
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    path: str
    action: Action = "created"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a goal is; also what the marks of one summary say of it."""

    checkpoints: tuple[Step, ...] = ()
    decisions: tuple[Decision, ...] = ()
    artifacts: tuple[Artifact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.decisions or self.artifacts)

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.checkpoints + other.checkpoints, self.decisions + other.decisions, self.artifacts + other.artifacts
        )


def parse(summary: str) -> tuple[str, Progress]:
    """The summary without the lines that are marks, and what they say.

    `[CHECKPOINT] text - COMPLETED|IN-PROGRESS|PENDING`, `[DECISION] text: rationale - LOCKED`,
    `[ARTIFACT] Created|Modified|Deleted path`.
    """
    found = [_mark(kind, text.rstrip(" \t")) for kind, text in _MARK.findall(summary)]
    marks = Progress(
        tuple(step for one in found for step in one.checkpoints),
        tuple(decision for one in found for decision in one.decisions),
        tuple(artifact for one in found for artifact in one.artifacts),
    )
    return re.sub(r"\n{3,}", "\n\n", _MARK.sub("", summary)).strip(), marks


def marks_in(texts: Iterable[str]) -> Progress:
    """Every mark that occurs in the texts, wherever it stands on its line; in linear time."""
    found = {
        (kind.upper(), " ".join(words[:MARK_LOOKED_AT].split()))
        for text in texts
        for kind, words in _ANYWHERE.findall(text)
    }
    marks = [_mark(*each) for each in found]
    return Progress(
        tuple(step for one in marks for step in one.checkpoints),
        tuple(decision for one in marks for decision in one.decisions),
        tuple(artifact for one in marks for artifact in one.artifacts),
    )


def without(marks: Progress, quoted: Progress) -> Progress:
    """The marks but those that repeat a `quoted` one: the same step, decision or path, whatever is said of it."""
    steps = {_compared(step.text) for step in quoted.checkpoints}
    decisions = {_compared(decision.text) for decision in quoted.decisions}
    paths = {_compared(artifact.path) for artifact in quoted.artifacts}
    return Progress(
        tuple(step for step in marks.checkpoints if _compared(step.text) not in steps),
        tuple(decision for decision in marks.decisions if _compared(decision.text) not in decisions),
        tuple(artifact for artifact in marks.artifacts if _compared(artifact.path) not in paths),
    )


def unmarked(summary: str) -> str:
    """The summary with the marks' words but without their brackets: where there is no goal that they could be of."""
    return _MARK.sub(lambda found: f"- {found[2].rstrip(' \t')}" if found[2] else "", summary)


def advanced(progress: Progress, marks: Progress, *, at: str) -> Progress:
    """The progress as `marks` leave it; the same text is the same thing. `at` (ISO 8601) dates what is completed."""
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
        tuple(artifacts.values())[-MOST:],
    )


def fitted(description: str, priority: str, progress: Progress, *, max_tokens: int, count: TokenCounter) -> Progress:
    """The progress without what is done, open to change or oldest, until its rendering takes `max_tokens` at most."""
    steps, decisions, artifacts = progress.checkpoints, progress.decisions, progress.artifacts
    order: list[Step | Decision | Artifact] = [
        *artifacts,
        *(step for step in steps if step.status == "completed"),
        *(decision for decision in decisions if not decision.locked),
        *(step for step in steps if step.status != "completed"),
        *(decision for decision in decisions if decision.locked),
    ]
    gone: set[Step | Decision | Artifact] = set()
    while order and count(render(description, priority, progress)) > max_tokens:
        gone.add(order.pop(0))
        progress = Progress(
            tuple(step for step in steps if step not in gone),
            tuple(decision for decision in decisions if decision not in gone),
            tuple(artifact for artifact in artifacts if artifact not in gone),
        )
    return progress


def render(description: str, priority: str, progress: Progress) -> str:
    """The goal as the system prompt tells it."""
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
    return {
        "checkpoints": [asdict(step) for step in progress.checkpoints],
        "decisions": [asdict(decision) for decision in progress.decisions],
        "artifacts": [asdict(artifact) for artifact in progress.artifacts],
    }


def from_json(saved: Mapping[str, Any]) -> Progress:
    return Progress(
        tuple(Step(**row) for row in saved["checkpoints"]),
        tuple(Decision(**row) for row in saved["decisions"]),
        tuple(Artifact(**row) for row in saved["artifacts"]),
    )


def _mark(kind: str, text: str) -> Progress:
    if not text:
        return Progress()
    if kind == "CHECKPOINT":
        found = _STATUS.search(text)
        status: Any = found[1].lower() if found else "pending"
        words = _cut(text[: found.start()] if found else text)
        return Progress(checkpoints=(Step(words, status),)) if words else Progress()
    if kind == "DECISION":
        words, _, rationale = _LOCKED.sub("", text).partition(": ")
        decision = Decision(_cut(words), _cut(rationale), bool(_LOCKED.search(text)))
        return Progress(decisions=(decision,)) if decision.text else Progress()
    done = _ACTION.match(text)
    action: Any = done[1].lower() if done else "created"
    path = _cut(done[2] if done else text).strip("` ")
    return Progress(artifacts=(Artifact(path, action),)) if path else Progress()


def _compared(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!; ")


def _cut(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


def _at_most[Item: (Step, Decision)](items: Iterable[Item], expendable: list[str]) -> tuple[Item, ...]:
    """At most MOST of them, in order: the oldest of the expendable ones go, then the newest of all."""
    kept = list(items)
    dropped = set(expendable[: max(len(kept) - MOST, 0)])
    return tuple(item for item in kept if item.text not in dropped)[:MOST]


def _decided(decision: Decision) -> str:
    because = f" ({decision.rationale})" if decision.rationale else ""
    return f"Decided{', and not to be reopened' if decision.locked else ''}: {decision.text}{because}"
