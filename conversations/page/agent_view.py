"""What tools and executors do, as it is read: how far they are, and the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Count, IntegerField, OuterRef, Prefetch, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce

from compression.core.values import FlowUsage
from compression.models import Compaction
from conversations.agents.executor import PARTIAL
from conversations.context import replay, tools, transcript, usage
from conversations.messages import history
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.page.tool_labels import called

Status = Compaction.Status
HISTORY = ("summary", "protected", "live")
"""Parts of a request that count towards a flow's own budget."""
TOLD = (*Compaction.ACTIVE, Status.SUCCEEDED, Status.FAILED)
"""Compactions of an executor that are steps of its run."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the planner or the executor said, or the tools that it called."""

    row: AgentStep

    template = "conversations/_step.html"

    @property
    def message(self) -> Message:
        return self.row.message

    @property
    def text(self) -> str:
        """Without the line that says that it is a part."""
        content = self.message.content
        return PARTIAL.sub("", content, count=1) if self.row.kind == AgentStep.Kind.PARTIAL else content


@dataclass(frozen=True, slots=True)
class Fold:
    """A compaction of the executor's history."""

    compaction: Compaction

    template = "conversations/_step_fold.html"


@dataclass(frozen=True, slots=True)
class Working:
    """A run in full. `prompt` and `completion` are tokens of all its requests together, as its provider reported them.

    `used` is None where no model is set.
    """

    run: AgentRun
    entries: tuple[Step | Fold, ...]
    used: FlowUsage | None

    @property
    def asked(self) -> list[Message]:
        """Those that a model wrote."""
        return [entry.message for entry in self.entries if isinstance(entry, Step) and entry.message.model]

    @property
    def prompt(self) -> int:
        return sum(message.prompt_tokens or 0 for message in self.asked)

    @property
    def completion(self) -> int:
        return sum(message.completion_tokens or 0 for message in self.asked)


def progress_of(**calls: Any) -> Coalesce:
    """Of these calls, as a number that rises with every one that is made, begun and ended."""
    done = {ToolCall.Status.PENDING: 1, ToolCall.Status.RUNNING: 2}
    weight = Case(*(When(status=status, then=Value(n)) for status, n in done.items()), default=Value(3))
    rows = ToolCall.objects.filter(**calls).order_by().annotate(one=Value(1)).values("one")
    return Coalesce(Subquery(rows.annotate(sum=Sum(weight)).values("sum"), output_field=IntegerField()), 0)


def progress(conversation: Conversation) -> str:
    """How far the last run of an agent is; "" for what is none."""
    if conversation.kind != Conversation.Kind.AGENT:
        return ""
    folds = Compaction.objects.filter(conversation=OuterRef("thread"), status__in=TOLD).order_by("-created_at")
    rows = AgentRun.objects.filter(conversation=conversation).order_by("-created_at", "-id")
    return str(
        rows.annotate(
            said=Count("steps"),
            calls=progress_of(message__conversation=OuterRef("thread")),
            fold=Subquery(folds.values("id")[:1]),
            how=Subquery(folds.values("status")[:1]),
        )
        .values_list("id", "status", "turns", "said", "calls", "fold", "how")
        .first()
    )


def run_view(run: AgentRun) -> Working:
    """In a constant number of queries."""
    steps: list[Step | Fold] = [Step(row) for row in steps_of(run)]
    entries = sorted([*steps, *(Fold(row) for row in folds_of(run))], key=_moment)
    return Working(run, tuple(entries), used_by(run))


def steps_of(run: AgentRun, **which: Any) -> Iterator[AgentStep]:
    """In order; with what is shown of them."""
    calls = Prefetch("message__tool_calls", history.visible_calls())
    rows = AgentStep.objects.filter(run=run, **which).select_related("message").order_by("number")
    yield from rows.prefetch_related(calls)


def folds_of(run: AgentRun) -> Iterator[Compaction]:
    rows = Compaction.objects.filter(conversation=run.thread_id, status__in=TOLD)
    yield from rows.defer("steering", "prepared").order_by("created_at", "id")


def used_by(run: AgentRun) -> FlowUsage | None:
    """How much the executor uses of its own budget; of a run that has ended, how much it used in its last request."""
    used = usage.flow_usage(transcript.load(run.thread_id))
    if used is None or run.is_open:
        return used
    said = Message.objects.filter(replay.WITH_RECORD, conversation=run.thread_id).order_by("-created_at")
    noted = said.values_list("request", flat=True).first()
    return replace(used, history=sum(noted["tokens"][part] for part in HISTORY)) if noted else used


def shown_at(run: AgentRun) -> ToolCall | None:
    """The call in whose place a page shows it."""
    place = history.said_to_executors().filter(run=run).values(place=history.place_of_run(OuterRef("run")))[:1]
    return history.visible_calls().filter(pk=Subquery(place)).select_related("message").first()


def last_run(conversation: Conversation) -> AgentRun | None:
    if conversation.kind != Conversation.Kind.AGENT:
        return None
    return AgentRun.objects.filter(conversation=conversation).order_by("-created_at", "-id").first()


def waited_for(conversation: Conversation) -> str:
    """What a reply that has not begun waits for, in words; "" where that is the model."""
    call = _unfinished(conversation.pk)
    if call is None:
        return ""
    if conversation.kind != Conversation.Kind.AGENT or call.name not in tools.PLANNERS:
        return f"{called(call)}…"
    run = AgentRun.objects.filter(conversation=conversation, status=AgentRun.Status.RUNNING).first()
    return _executors(run) if run else "The executor begins…"


def _executors(run: AgentRun) -> str:
    if Compaction.objects.filter(conversation=run.thread_id, status__in=Compaction.ACTIVE).exists():
        return "The executor compacts its history…"
    call = _unfinished(run.thread_id)
    return f"The executor works: {called(call)}…" if call else "The executor works…"


def _unfinished(conversation_id: Any) -> ToolCall | None:
    """The call of the last message that is carried out, else the next one that will be."""
    said = Message.objects.filter(conversation=conversation_id, replaced_by=None)
    last = said.exclude(status=Message.Status.STREAMING).order_by("-created_at").values("pk")[:1]
    rows = ToolCall.objects.filter(message=Subquery(last), status__in=ToolCall.UNFINISHED).defer("result")
    return rows.order_by("-status", "id").first()


def _moment(entry: Step | Fold) -> Any:
    return entry.message.created_at if isinstance(entry, Step) else entry.compaction.created_at
