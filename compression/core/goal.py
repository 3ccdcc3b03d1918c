"""A goal's progress: parses it from the marks in a summary, updates it, and renders it for the system prompt."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

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

_KIND = r"[\[【] ?((?i:checkpoint|decision|artifact))(?i:s)? ?[\]】][*`]{0,3}+[:：]?+[*`]{0,3}+"
_MARK = re.compile(
    r"^(?:[ \t|*+•·#`~✅☑✔⬜-]|\d{1,3}[.)]|\[[ xX]\])*+"
    rf"(?=[\[【] ?[CDA]){_KIND}[ \t]*+(\S.*+)?$",
    re.MULTILINE,
)
"""A line with a mark; a quoted one (`> `) is none.

Trailing blanks are part of the match: excluding them would make the pattern backtrack at each blank.
"""
_ANYWHERE = re.compile(rf"{_KIND}((?:[^\n\[【]|[\[【](?! ?(?i:checkpoint|decision|artifact)))*+)")

_AROUND = " \t|*~"
"""Characters around the text of a mark in bold, or in a row of a table."""
_SEPARATORS = " \t-–—:：|→>([（【*`✅☑✔⏳"
_SEPARATES = re.compile(r"\s-|[–—:：|→>(\[（【*`✅☑✔⏳]")
"""A separator before a status; a hyphen within a word ("half-done") is none."""
_END = r"\b[ \t)\]）】*`.。!|✅☑✔]*+(?:[(（][^()（）\n]{0,80}[)）][ \t.|]*+)?\Z"
_STATUSES: dict[StepStatus, str] = {
    "pending": r"not[ -](?:started|yet[ -]started|completed|done)|pending|to[ -]?do|blocked|planned|incomplete",
    "in-progress": r"in[ _-]?progress|ongoing|underway|started|wip|partial(?:ly)?(?:[ -](?:completed?|done))?",
    "completed": r"completed?|done|finished|achieved",
}
_STATUS = re.compile(rf"(?<![\w-])({'|'.join(_STATUSES.values())}){_END}", re.IGNORECASE)
_LOCKED = re.compile(rf"(?<![\w-])((?:un|not[ -])?locked){_END}", re.IGNORECASE)
_REASON = re.compile(r": |：|\s[–—]\s")
_VERBS: dict[Action, str] = {
    "created": "created|added|wrote|generated|new",
    "modified": "modified|updated|edited|changed|extended|rewrote|refactored|fixed",
    "deleted": "deleted|removed",
}
_VERB = "|".join(_VERBS.values())
_ACTION = re.compile(rf"\A({_VERB})(?:\s*[:：]\s*|\s+(?:[-–—]\s+)?)(\S.*)\Z", re.IGNORECASE)
_ACTION_LAST = re.compile(rf"(?<![\w-])({_VERB}){_END}", re.IGNORECASE)
_MOVED = re.compile(r"\A(?:renamed|moved):?\s+(\S+)\s+(?:to|→|->|=>)\s+(\S+)", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]++)\*\*")
_REMARK = re.compile(r"\s[(（–—-](?:[^()（）]*[)）]|\s.*)\Z|:\s.*\Z")


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
    `[ARTIFACT] Created|Modified|Deleted path`. Models write them in lists, in bold, with other dashes and verbs.
    """
    marks = _progress(_kind_and_text(found) for found in _MARK.finditer(summary))
    return re.sub(r"\n{3,}", "\n\n", _MARK.sub("", summary)).strip(), marks


def marks_in(texts: Iterable[str]) -> Progress:
    """The progress that all marks in the texts report, wherever a mark is on its line; time is linear in the texts."""
    found = {
        (kind.upper(), " ".join(words[:MAX_MARK_CHARS].split()))
        for text in texts
        for kind, words in _ANYWHERE.findall(text)
    }
    return _progress(found)


def without_quoted_marks(marks: Progress, quoted: Progress) -> Progress:
    """The marks without those that repeat the beginning of a quoted step, decision or path, with any status.

    Further words may follow a mark on its line in a message.
    """
    steps = _Beginnings(step.text for step in quoted.checkpoints)
    decisions = _Beginnings(decision.text for decision in quoted.decisions)
    paths = _Beginnings(artifact.path for artifact in quoted.artifacts)
    return Progress(
        tuple(step for step in marks.checkpoints if step.text not in steps),
        tuple(decision for decision in marks.decisions if decision.text not in decisions),
        tuple(artifact for artifact in marks.artifacts if artifact.path not in paths),
    )


class _Beginnings:
    """The texts with which one of some texts begins, in any case; a look-up takes logarithmic time."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(map(_compared, texts))

    def __contains__(self, text: str) -> bool:
        beginning = _compared(text)
        at = bisect_left(self._texts, beginning)
        return at < len(self._texts) and self._texts[at].startswith(beginning)


def unmarked(summary: str) -> str:
    """The summary with each mark as a plain list item without its bracket, for a conversation without a goal."""

    def plain(found: re.Match[str]) -> str:
        text = _kind_and_text(found)[1].strip(_AROUND)
        return f"- {text}" if text else ""

    return _MARK.sub(plain, summary)


def advanced(progress: Progress, marks: Progress, *, at: str) -> Progress:
    """The progress updated by `marks`: entries with equal words (or paths) are the same entry, whose text stays.

    `at` (ISO 8601) becomes the date of newly completed steps. A locked decision keeps its rationale and stays locked.
    """
    steps = {_compared(step.text): step for step in progress.checkpoints}
    for step in marks.checkpoints:
        known = steps.setdefault(_compared(step.text), step)
        completed_at = (known.completed_at or at) if step.status == "completed" else ""
        steps[_compared(step.text)] = replace(known, status=step.status, completed_at=completed_at)
    decisions = {_compared(decision.text): decision for decision in progress.decisions}
    for decision in marks.decisions:
        old = decisions.get(_compared(decision.text), decision)
        rationale = old.rationale if old.locked else decision.rationale or old.rationale
        decisions[_compared(old.text)] = Decision(old.text, rationale, locked=old.locked or decision.locked)
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


def _kind_and_text(found: re.Match[str]) -> tuple[str, str]:
    """The kind of a mark in capitals, and its text."""
    return found[1].upper(), (found[2] or "").rstrip(" \t")


def _progress(marks: Iterable[tuple[str, str]]) -> Progress:
    """The progress that marks report, each a kind and a text."""
    found = [_mark(kind, text) for kind, text in marks]
    return Progress(
        tuple(step for one in found for step in one.checkpoints),
        tuple(decision for one in found for decision in one.decisions),
        tuple(artifact for one in found for artifact in one.artifacts),
    )


def _mark(kind: str, text: str) -> Progress:
    """The progress that one mark reports; empty if the mark has no text."""
    text = _BOLD.sub(r"\1", text).strip(_AROUND)
    text = text.strip("`") if text.count("`") % 2 else text
    if not text:
        return Progress()
    if kind == "CHECKPOINT":
        words, ending = _before_ending(text, _STATUS, ("COMPLETED", "IN-PROGRESS", "PENDING"))
        status = next((name for name, form in _STATUSES.items() if re.fullmatch(form, ending, re.IGNORECASE)), None)
        return Progress(checkpoints=(Step(_cut(words), status or "pending"),)) if _cut(words) else Progress()
    if kind == "DECISION":
        words, ending = _before_ending(text, _LOCKED, ("LOCKED",))
        parts = [*_REASON.split(words, maxsplit=1), ""]
        decision = Decision(_cut(parts[0]), _cut(parts[1]), ending.lower() == "locked")
        return Progress(decisions=(decision,)) if decision.text else Progress()
    return Progress(artifacts=tuple(_artifacts(text[:MAX_MARK_CHARS])))


def _before_ending(text: str, endings: re.Pattern[str], bare: tuple[str, ...]) -> tuple[str, str]:
    """(the text before its ending, the ending); an ending without a separator counts only if it is one of `bare`."""
    found = endings.search(text)
    words = text[: found.start() if found else None].rstrip(_SEPARATORS)
    words += "`" if words.count("`") % 2 else ""
    if not found:
        return words, ""
    is_apart = _SEPARATES.search(text, len(words), found.start()) or found[1] in bare
    return (words, found[1]) if is_apart else (text, "")


def _artifacts(text: str) -> Iterator[Artifact]:
    """The files of a mark; none if its verb is unknown: it may say anything of the file."""
    if moved := _MOVED.match(text):
        yield Artifact(_path(moved[1]), "deleted")
        yield Artifact(_path(moved[2]), "created")
        return
    paths, verb = text, "created"
    if found := _ACTION.match(text):
        verb, paths = found[1], found[2]
    else:
        paths, ending = _before_ending(text, _ACTION_LAST, ())
        if not ending and len(paths.split()) > 1:
            return
        verb = ending or verb
    action = next(name for name, verbs in _VERBS.items() if re.fullmatch(verbs, verb, re.IGNORECASE))
    for path in map(_path, _paths_in(_cut(paths))):
        if path:
            yield Artifact(path, action)


def _paths_in(text: str) -> list[str]:
    """The paths of a text: those in backticks, or a list of them, or the text without a remark after it."""
    if quoted := re.findall(r"`([^`]+)`", text):
        return quoted
    text = _REMARK.sub("", text)
    pieces = re.split(r",\s*|\s+and\s+", text)
    return pieces if all(re.fullmatch(r"\S*[./]\S*", piece) for piece in pieces) else [text]


def _path(text: str) -> str:
    return text.strip("`*, ")


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
