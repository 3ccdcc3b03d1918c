"""A conversation of a file of any known format, read completely before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from compression.core.citation_values import Citations
from compression.core.goal import Progress
from compression.core.values import Image, ToolUse
from conversations.messages.pastes import Pasted
from conversations.models import Attachment


@dataclass(frozen=True, slots=True)
class ImportedCall:
    """A tool call of an assistant message; `arguments` is text, as in OpenAI's API.

    `number` is unique in its file: providers use a call's id again once the call was answered.
    """

    number: int
    call_id: str
    name: str
    arguments: str
    status: str = "done"
    error: str = ""
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ImportedResult:
    """The result of a tool call."""

    content: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message that becomes a row.

    `created_at` is the file's own date, which may be missing or out of order. A kept line stands before the cut and is
    sent verbatim all the same, an elided one is sent without results of tools, or with excerpts of
    `excerpt` characters. `files` are unsaved rows, `figures` the
    columns of a reply's usage.
    """

    role: str
    content: str
    created_at: datetime | None
    name: str = ""
    calls: tuple[ImportedCall, ...] = ()
    is_protected: bool = False
    status: str = "complete"
    finish_reason: str = ""
    model: str = ""
    id: str | None = None
    is_kept: bool = False
    is_elided: bool = False
    excerpt: int = 0
    files: tuple[Attachment, ...] = ()
    pastes: tuple[Pasted, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(Image(row.digest, row.name, row.size) for row in self.files if row.kind == Attachment.Kind.IMAGE)

    @property
    def is_said(self) -> bool:
        """Whether the line is sent to a model: a reply that was stopped at once is not."""
        return self.status == "complete" or bool(self.content)


@dataclass(frozen=True, slots=True)
class ImportedGoal:
    """A goal, with its progress."""

    description: str
    priority: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class ImportedSummary:
    """An active checkpoint; its messages are named by their place among the lines."""

    number: int
    level: int
    age: int
    text: str
    birth_tokens: int
    original_tokens: int
    first: int
    last: int
    stragglers: tuple[int, ...]
    model: str
    is_provisional: bool
    created_at: datetime | None
    citations: Citations | None = None


@dataclass(frozen=True, slots=True)
class ImportedState:
    """The state of compression: checkpoints in order; the cut is the end of the last one's run."""

    summaries: tuple[ImportedSummary, ...]
    strategy: str
    compacted_at: datetime | None

    @property
    def end(self) -> int:
        """The number of lines before the cut."""
        return self.summaries[-1].last + 1 if self.summaries else 0


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """An entry of the ledger. `message` is a place among the lines, `superseded_by` a place among the entries."""

    kind: str
    text: str
    state: str
    is_chosen: bool
    message: int | None
    superseded_by: int | None
    said_at: datetime
    decided_at: datetime
    history: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """One conversation of a file.

    `results` are by the number of their call, `model` is a profile's name, `fields` are further columns. `rules` and
    `ledger` are those that the file lists as entries: no text of a message becomes an entry, and none is put in force.
    `id` is the file's own, `place` its position in a list. A conversation without lines is left out if it must not be
    empty. Without a `state` it is not compacted. `seal` shows whose the system prompt is: without the importing
    person's seal it becomes a proposal. `proposed_system_prompt` is a proposal that nobody has answered. `origin` names
    the conversation in another site's export: a newer export of it brings what is new.
    """

    title: str
    system_prompt: str
    lines: tuple[ImportedMessage, ...]
    results: Mapping[int, ImportedResult]
    model: str = ""
    started: datetime | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    ledger: tuple[ImportedEntry, ...] = ()
    goal: ImportedGoal | None = None
    id: str | None = None
    updated: datetime | None = None
    may_be_empty: bool = True
    state: ImportedState | None = None
    place: str = ""
    runs: tuple[ImportedRun, ...] = ()
    seal: str = ""
    proposed_system_prompt: str = ""
    origin: str = ""

    @property
    def size(self) -> int:
        """The number of messages, those of its runs included."""
        return len(self.lines) + sum(len(run.thread.lines) for run in self.runs)

    def tool_use(self, call: ImportedCall) -> ToolUse:
        result = self.results.get(call.number)
        return ToolUse(call.call_id, call.name, call.arguments, result.content if result else None)


@dataclass(frozen=True, slots=True)
class ImportedStep:
    """One message of a run's thread; `call` is the planner's: the place of its message among the lines, and its id."""

    kind: str
    call: tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A task that an agent handed to an executor. There is a step for each line of `thread`."""

    task: str
    status: str
    turns: int
    error: str
    created: datetime | None
    finished: datetime | None
    thread: ImportedSource
    steps: tuple[ImportedStep, ...]


class SkippedConversation(NamedTuple):
    """A conversation of a file that did not come in: its place and title, and the reason."""

    place: str
    title: str
    reason: str
