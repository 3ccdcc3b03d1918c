"""The engine's values: frozen dataclasses without rows, settings or frameworks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import ceil
from typing import Literal, NamedTuple

from compression.core.citation_values import Citations
from compression.core.goal import Progress
from compression.core.merging import MergeStrategy

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
    """An image of a message: the SHA-256 of its bytes (hex), its file's name, and its size in bytes."""

    hash: str
    name: str
    size: int = 0

    @property
    def caption(self) -> str:
        """The text that represents the image where images cannot be sent."""
        return f"[image: {self.name}]"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a history. `tokens` is its whole cost in a request, tool calls and results included.

    An `elided` message is sent, and counted in `tokens`, without its tools' results. `origin` names the source of a
    user message that nobody typed here ("import", "planner", "summary"; else ""). `quoted` are the places (start,
    length) of pastes and files in `content`, `boilerplate` those of them that the person's program put there. `number`
    is the place of an elided message in the history, from 1 (None: not noted), `excerpt` the characters of each of its
    results that are sent all the same.
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
    number: int | None = None
    excerpt: int = 0
    boilerplate: tuple[tuple[int, int], ...] = ()

    @property
    def is_typed(self) -> bool:
        """Whether a person typed the message here, its quotations aside."""
        return self.role == "user" and not self.origin

    @property
    def typed(self) -> str:
        """The text that a person typed, without quotations; "" for messages that nobody typed."""
        return "\n".join(text for text, is_quoted in self.parts if not is_quoted) if self.is_typed else ""

    @property
    def parts(self) -> tuple[tuple[str, bool], ...]:
        """(text, is a quotation) of each part of the content, in order."""
        return split_quotations(self.content, self.quoted)

    @property
    def substance(self) -> tuple[tuple[str, bool], ...]:
        """The `parts` without boilerplate: those that have facts."""
        if not self.boilerplate:
            return self.parts
        known = {self.content[start : start + length] for start, length in self.boilerplate}
        return tuple((text, is_quoted) for text, is_quoted in self.parts if not (is_quoted and text in known))

    @property
    def captioned(self) -> str:
        """The content and the captions of its images, for readers that see no images."""
        return "\n".join(part for part in (self.content, *(image.caption for image in self.images)) if part)


Group = tuple[Turn, ...]
"""Turns that no cut may separate: an assistant message with the results of its tool calls, or a single message."""


class CountedFact(NamedTuple):
    """A fact of summarised messages. `was_kept`: the first request after they were summarised had it."""

    kind: str
    text: str
    was_kept: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One summary of a run of messages. `digest` is the running hash of the history up to the run's end.

    `number` is 0 until the checkpoint is stored. `birth_tokens` is the summary's size at age 0; `age` is how often it
    was shortened or merged since, at most OLDEST_AGE. `author` names the summariser, or says that a
    person has edited it ("": not known).
    `stragglers` are ids of older messages that the summary covers too: they were kept when the cut passed them, and
    condensed later. A provisional checkpoint will be rebuilt from its messages. `facts` are the most important ones of
    the messages that it covers (None: not known, or not read); `citations` are the sources of its statements (None:
    not looked for yet).
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
    author: str = ""
    facts: tuple[CountedFact, ...] | None = None
    citations: Citations | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A model's usable context in tokens; `reserve` is the room for the reply.

    `correction` is the factor from our token counts to the model's.
    """

    size: int
    reserve: int
    correction: float = 1.0

    @property
    def budget(self) -> int:
        """The most tokens of a request that leave room for the reply."""
        return self.size - self.reserve

    def corrected(self, tokens: int) -> int:
        """Our count converted to the model's own, rounded up."""
        return ceil(tokens * self.correction)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the next request, part by part, as the model would count them."""

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
    """A flow's use of its own budget: tokens of history in its next request, as the model counts them."""

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
    """The input of a compaction.

    `turns` are, in order, the kept messages from before the cut and the whole history after it; the last `waiting` of
    them are not answered yet and never condensed. `context_tokens` are those of the rendered checkpoints,
    `system_tokens` those of the system prompt. `goal` is the conversation's goal, "" for none. `taken_back` are the
    sentences of rules that the person has taken back: no summary states them.
    """

    turns: tuple[Turn, ...]
    window: Window
    system_tokens: int = 0
    context_tokens: int = 0
    checkpoints: tuple[Checkpoint, ...] = ()
    cut: datetime | None = None
    waiting: int = 0
    goal: str = ""
    taken_back: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The running hash of everything up to the cut."""
        return self.checkpoints[-1].digest if self.checkpoints else ""


@dataclass(frozen=True, slots=True)
class Steering:
    """The wishes of a person or caller for one compaction; they override the policy.

    `growth` None asks for everything but the policy's `keep_recent` to be compacted. A number asks for the latest
    messages to stay up to the policy's target, less this number of tokens (the model's), by which the conversation will
    have grown once the compaction is in force.
    """

    instructions: str = ""
    prompt: str = ""
    keep_recent: int | None = None
    up_to: str | None = None
    quality: Literal["fast", "standard"] = "fast"
    growth: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the transcript that fits a summariser, with the requirements for its summary.

    `text` is the rendering of `turns`; `earlier` is the summary to include ("": none). `prompt` is a template
    that replaces the default one ("": the default). `facts` are those that the summary should keep, for summarisers
    that select by them. `taken_back` are sentences that the summary must not state. `number` is its place among the
    requests of the whole summary. One that `merges` has the summaries of parts as its turns and text.
    """

    turns: tuple[Turn, ...]
    text: str
    earlier: str
    max_tokens: int
    level: int
    instructions: str = ""
    goal: str = ""
    prompt: str = ""
    facts: tuple[Fact, ...] = ()
    taken_back: tuple[str, ...] = ()
    number: int = 0
    merges: bool = False


@dataclass(frozen=True, slots=True)
class SummariserOutput:
    """A summariser's output; `finished` is False if it was cut off. `saw_all`: its author has read the whole
    conversation as it is sent, not the passage alone.
    """

    text: str
    finished: bool = True
    saw_all: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """Numbers of the condensed text's facts: `found` there, `kept` in the next request, `repaired` into the summary.

    Of the `judged`, the most important ones, the summariser itself kept `own`: by these it is judged, without repair.
    """

    found: int = 0
    kept: int = 0
    repaired: int = 0
    judged: int = 0
    own: int = 0

    @property
    def share(self) -> float:
        """The share of the judged facts that the summariser itself kept."""
        return self.own / self.judged if self.judged else 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A compaction in progress; each stage returns a draft with more of its fields set. No stage stores anything.

    The new summary takes in the `folded` checkpoints; the `older` ones stay beside it, all within `room` tokens.
    `originals` are the messages of the folded checkpoints, where these are read again instead of their summaries.
    Independent passages have a `merging`; without one, each is summarised with the summary of the one before it.
    `marks` is the goal's progress as the summariser reported it. The summary is asked for in `max_tokens`, and has at
    most `limit` with the facts that are put back; more than `target` only for critical ones. `files` are the acts on
    each file that the messages' tools touched, by path. `unfound` are the texts
    of the summary's statements that stand in no message, `dropped` is the number of those left out.
    """

    transcript: Transcript
    condensed: tuple[Turn, ...] = ()
    kept: tuple[Turn, ...] = ()
    tail: tuple[Turn, ...] = ()
    room: int = 0
    older: tuple[Checkpoint, ...] = ()
    folded: tuple[Checkpoint, ...] = ()
    originals: tuple[Turn, ...] = ()
    passages: tuple[Passage, ...] = ()
    merging: MergeStrategy | None = None
    level: int = 0
    max_tokens: int = 0
    limit: int = 0
    target: int = 0
    facts: tuple[Fact, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    unfound: frozenset[str] = frozenset()
    dropped: int = 0
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


def split_quotations(content: str, quoted: Sequence[tuple[int, int]]) -> tuple[tuple[str, bool], ...]:
    """(text, is a quotation) of each part of the content; `quoted` are the quotations' places (start, length)."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, length in quoted:
        if start < at:  # overlaps the previous quotation
            continue
        parts += [(content[at:start], False), (content[start : start + length], True)]
        at = start + length
    return tuple((text, is_quoted) for text, is_quoted in [*parts, (content[at:], False)] if text)


def total_tokens(turns: Sequence[Turn]) -> int:
    return sum(turn.tokens for turn in turns)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a text, verbatim but for whitespace. `kind` is a key of `WEIGHTS`; a higher `weight` matters more.

    `speaker` ("": unknown) and `day` are those of the fact's first occurrence, `source` ("": unknown) is its text.
    """

    kind: str
    text: str
    weight: float
    speaker: str = ""
    day: date | None = None
    source: str = field(default="", repr=False, compare=False)
