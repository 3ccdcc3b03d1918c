"""What a file says about a conversation, whatever its format: read completely before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compression.core.goal import Progress
from compression.core.values import Image, ToolUse
from conversations.models import Attachment
from conversations.pastes import Pasted


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an assistant message; `arguments` is text, as in OpenAI's API.

    `number` tells it from all others of its file: providers use a call id again once its call was answered.
    """

    number: int
    call_id: str
    name: str
    arguments: str
    status: str = "done"
    error: str = ""
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to a call."""

    content: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Line:
    """One message that becomes a row. `created_at` is the file's own date, which may be missing or out of order.

    A kept one stands before the cut and is sent verbatim all the same, an elided one is sent without results of tools.
    `files` are rows that are not stored yet.
    """

    role: str
    content: str
    created_at: datetime | None
    name: str = ""
    calls: tuple[Call, ...] = ()
    is_protected: bool = False
    status: str = "complete"
    finish_reason: str = ""
    model: str = ""
    id: str | None = None
    is_kept: bool = False
    is_elided: bool = False
    files: tuple[Attachment, ...] = ()
    pastes: tuple[Pasted, ...] = ()

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(Image(row.digest, row.name, row.size) for row in self.files if row.kind == Attachment.Kind.IMAGE)

    @property
    def is_said(self) -> bool:
        """Whether a model is told about it: a reply that was stopped at once is not."""
        return self.status == "complete" or bool(self.content)


@dataclass(frozen=True, slots=True)
class Aim:
    """A goal, with its progress."""

    description: str
    priority: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class Summary:
    """An active checkpoint. The messages that it is of are told by their place among the lines of its source."""

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


@dataclass(frozen=True, slots=True)
class State:
    """How a conversation is compressed: summaries in order; the cut is the end of the last one's run."""

    summaries: tuple[Summary, ...]
    strategy: str
    compacted_at: datetime | None

    @property
    def end(self) -> int:
        """How many lines stand before the cut."""
        return self.summaries[-1].last + 1 if self.summaries else 0


@dataclass(frozen=True, slots=True)
class Source:
    """One conversation of a file.

    `results` are by the number of their call, `model` is a profile's name, `fields` are further ones of the row.
    `rules` are those that the file names as such: what is said in it puts none in force. `id` is what the file calls
    it, `place` where it stands in a list. One that may not be empty is left out where it has no lines. Without a
    `state` it is not compressed.
    """

    title: str
    system_prompt: str
    lines: tuple[Line, ...]
    results: Mapping[int, Result]
    model: str = ""
    started: datetime | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    goal: Aim | None = None
    id: str | None = None
    updated: datetime | None = None
    may_be_empty: bool = True
    state: State | None = None
    place: str = ""
    runs: tuple[Run, ...] = ()

    @property
    def size(self) -> int:
        """Messages, those of its runs among them."""
        return len(self.lines) + sum(len(run.thread.lines) for run in self.runs)

    def tool_use(self, call: Call) -> ToolUse:
        result = self.results.get(call.number)
        return ToolUse(call.call_id, call.name, call.arguments, result.content if result else None)


@dataclass(frozen=True, slots=True)
class Step:
    """One message of a run's thread; `call` is the planner's: the place of its message among the lines, and its id."""

    kind: str
    call: tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class Run:
    """A task that an agent handed to an executor. There is a step for each line of `thread`."""

    task: str
    status: str
    turns: int
    error: str
    created: datetime | None
    finished: datetime | None
    thread: Source
    steps: tuple[Step, ...]
