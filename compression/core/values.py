"""The values that the engine works on: frozen, and free of rows, settings and frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import ceil
from typing import Literal

from compression.core.goal import Progress

Role = Literal["system", "user", "assistant", "tool"]

MESSAGE_OVERHEAD = 4
"""Tokens that a message costs on top of its text, for the role and the separators around it."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of an assistant message, with its result as it is sent (None: no result was recorded)."""

    call_id: str
    name: str
    arguments: str
    result: str | None


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a message: the SHA-256 of its bytes (hex), what its file is called, and how many bytes it has."""

    hash: str
    name: str
    size: int = 0

    @property
    def caption(self) -> str:
        """What stands for it where it is not seen."""
        return f"[image: {self.name}]"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a history. `tokens` is its whole cost in a request, tool calls and results included.

    An `elided` one is sent without its tools' results, and `tokens` is what it costs so. `origin` says where a person's
    words came from that were not typed here (import, planner, summary), `quoted` are places (start, length) of pastes
    and files in them.
    """

    id: str
    role: Role
    content: str
    created_at: datetime
    tokens: int
    name: str = ""
    tools: tuple[ToolUse, ...] = ()
    protected: bool = False
    elided: bool = False
    images: tuple[Image, ...] = ()
    origin: str = ""
    quoted: tuple[tuple[int, int], ...] = ()

    @property
    def is_typed(self) -> bool:
        """Whether a person typed it here, but for what it quotes."""
        return self.role == "user" and not self.origin

    @property
    def typed(self) -> str:
        """What a person typed of it."""
        return "\n".join(text for text, is_quoted in self.parts if not is_quoted) if self.is_typed else ""

    @property
    def parts(self) -> tuple[tuple[str, bool], ...]:
        """Its content in order, and of each part whether it is a quotation."""
        return split_at(self.content, self.quoted)

    @property
    def told(self) -> str:
        """Its text, and the names of its images."""
        return "\n".join(part for part in (self.content, *(image.caption for image in self.images)) if part)


Group = tuple[Turn, ...]
"""Turns that no cut may separate: an assistant message and the tool results that answer it, else a single message."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One summary of a run of messages. `digest` is the running hash of the history up to its end.

    `number` is 0 until it is stored. `birth_tokens` is what it took before it grew old (age 0, 1, 2).
    `stragglers` are ids of messages from before its run that it covers too: kept when the cut passed them, condensed
    with it. A provisional one is to be written anew from its messages.
    """

    number: int
    level: int
    summary: str
    tokens: int
    birth_tokens: int
    original_tokens: int
    first_id: str
    last_id: str
    last_at: datetime
    digest: str
    age: int = 0
    provisional: bool = False
    stragglers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A model's usable context, in tokens. `correction` turns our counts into that model's own."""

    size: int
    reserve: int
    correction: float = 1.0

    @property
    def budget(self) -> int:
        """The most that a request may use, so that the reply still fits."""
        return self.size - self.reserve

    def corrected(self, tokens: int) -> int:
        return ceil(tokens * self.correction)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the next request would use, part by part, as the model would count them."""

    system: int
    summary: int
    protected: int
    live: int
    window: Window
    recalled: int = 0

    @property
    def total(self) -> int:
        return self.system + self.summary + self.recalled + self.protected + self.live

    @property
    def ratio(self) -> float:
        return self.total / self.window.size

    @property
    def percent(self) -> int:
        return round(100 * self.ratio)

    @property
    def over_budget(self) -> bool:
        return self.total > self.window.budget


@dataclass(frozen=True, slots=True)
class FlowUsage:
    """How much a flow uses of a budget of its own: tokens of history in the next request, as the model counts them."""

    flow: str
    history: int
    budget: int

    @property
    def percent(self) -> int:
        return round(100 * self.history / self.budget)

    @property
    def is_over(self) -> bool:
        return self.history > self.budget


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a compaction starts from.

    `turns` are, in order, the kept messages from before the cut and the whole history after it; the last
    `waiting` of them are still to be answered and are never condensed. `context_tokens` is what the rendered
    checkpoints cost, `system_tokens` the system prompt. `goal` is what the conversation is to reach, "" for none.
    """

    turns: tuple[Turn, ...]
    window: Window
    system_tokens: int = 0
    context_tokens: int = 0
    checkpoints: tuple[Checkpoint, ...] = ()
    cut: datetime | None = None
    waiting: int = 0
    goal: str = ""

    @property
    def digest(self) -> str:
        """The running hash of everything up to the cut."""
        return self.checkpoints[-1].digest if self.checkpoints else ""


@dataclass(frozen=True, slots=True)
class Steering:
    """What a person or a caller asks of one compaction, beyond the policy."""

    instructions: str = ""
    prompt: str = ""
    keep_recent: int | None = None
    up_to: str | None = None
    quality: Literal["fast", "standard"] = "fast"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the transcript that fits a summariser, and what is asked about it.

    `text` is the rendering of `turns`; `earlier` is the summary to be folded in ("" where there is none). `prompt` is
    a template in place of the usual one.
    """

    turns: tuple[Turn, ...]
    text: str
    earlier: str
    max_tokens: int
    level: int
    instructions: str = ""
    goal: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What a summariser wrote, and whether it came to its end rather than being cut off."""

    text: str
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Retention:
    """Facts of the condensed text: how many were found, stand in the summary, and were repaired into it."""

    found: int = 0
    kept: int = 0
    repaired: int = 0

    @property
    def share(self) -> float:
        return self.kept / self.found if self.found else 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A compaction in the making; each stage returns a fuller one. Nothing of it is stored before the last.

    The new summary takes the `folded` checkpoints in; the `older` ones stay beside it, all within `room` tokens.
    `marks` is what the summariser said of the goal's progress.
    """

    transcript: Transcript
    condensed: tuple[Turn, ...] = ()
    kept: tuple[Turn, ...] = ()
    tail: tuple[Turn, ...] = ()
    room: int = 0
    older: tuple[Checkpoint, ...] = ()
    folded: tuple[Checkpoint, ...] = ()
    passages: tuple[Passage, ...] = ()
    level: int = 0
    max_tokens: int = 0
    facts: tuple[Fact, ...] = ()
    summary: str = ""
    marks: Progress = field(default_factory=Progress)
    checkpoints: tuple[Checkpoint, ...] = ()
    context: str = ""
    context_tokens: int = 0
    cut: datetime | None = None
    verbatim_ids: tuple[str, ...] = ()
    before: Usage | None = None
    after: Usage | None = None
    retention: Retention = field(default_factory=Retention)

    @property
    def condensed_tokens(self) -> int:
        return total_tokens(self.condensed)


def split_at(content: str, quoted: Sequence[tuple[int, int]]) -> tuple[tuple[str, bool], ...]:
    """The content in its parts, and of each whether it is one of the `quoted` places (start, length)."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, length in quoted:
        if start < at:  # no place reaches into another
            continue
        parts += [(content[at:start], False), (content[start : start + length], True)]
        at = start + length
    return tuple((text, is_quoted) for text, is_quoted in [*parts, (content[at:], False)] if text)


def total_tokens(turns: Sequence[Turn]) -> int:
    return sum(turn.tokens for turn in turns)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing said, verbatim but for whitespace. `kind` is a key of `WEIGHTS`; a higher `weight` matters more.

    `speaker` and `day` are those of the first time, where they are known.
    """

    kind: str
    text: str
    weight: float
    speaker: str = ""
    day: date | None = None
