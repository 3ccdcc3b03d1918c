"""The work of tools and executors as a page shows it: its progress, and the steps of each run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Count, IntegerField, OuterRef, Prefetch, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from compression.core.values import FlowUsage
from compression.models import Compaction
from conversations.agents.executor import PARTIAL
from conversations.context import tools, transcript
from conversations.messages import history
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.page.tool_labels import called
from conversations.requests import replay, usage

Status = Compaction.Status
HISTORY = ("summary", "protected", "live")
"""Parts of a request that count towards a flow's own budget."""
SHOWN_STATUSES = (*Compaction.ACTIVE, Status.SUCCEEDED, Status.FAILED)
"""Compactions of an executor that are steps of its run."""


@dataclass(frozen=True, slots=True)
class Step:
    """A message of the planner or the executor, with its tool calls."""

    row: AgentStep

    template = "conversations/agents/_step.html"

    @property
    def message(self) -> Message:
        return self.row.message

    @property
    def text(self) -> str:
        """The message's text, without the line that marks a partial result."""
        content = self.message.content
        return PARTIAL.sub("", content, count=1) if self.row.kind == AgentStep.Kind.PARTIAL else content


@dataclass(frozen=True, slots=True)
class CompactionEntry:
    """A compaction of the executor's history."""

    compaction: Compaction

    template = "conversations/agents/_step_compaction.html"


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with all its steps. `prompt` and `completion` are the tokens of all its requests, as the provider reported.

    `used` is None if no model is set.
    """

    run: AgentRun
    entries: tuple[Step | CompactionEntry, ...]
    used: FlowUsage | None

    @property
    def asked(self) -> list[Message]:
        """The messages that a model wrote; each answers one request."""
        return [entry.message for entry in self.entries if isinstance(entry, Step) and entry.message.model]

    @property
    def prompt(self) -> int:
        return sum(message.prompt_tokens or 0 for message in self.asked)

    @property
    def completion(self) -> int:
        return sum(message.completion_tokens or 0 for message in self.asked)


def progress_of(**calls: Any) -> Coalesce:
    """The progress of the calls that match the filters: a number that rises when a call is made, begins or ends."""
    done = {ToolCall.Status.PENDING: 1, ToolCall.Status.RUNNING: 2}
    weight = Case(*(When(status=status, then=Value(n)) for status, n in done.items()), default=Value(3))
    rows = ToolCall.objects.filter(**calls).order_by().annotate(one=Value(1)).values("one")
    return Coalesce(Subquery(rows.annotate(sum=Sum(weight)).values("sum"), output_field=IntegerField()), 0)


def progress(conversation: Conversation) -> str:
    """A text that changes with the progress of an agent's last run; "" for a conversation without an agent."""
    if conversation.kind != Conversation.Kind.AGENT:
        return ""
    compactions = Compaction.objects.filter(conversation=OuterRef("thread"), status__in=SHOWN_STATUSES).order_by(
        "-created_at"
    )
    rows = AgentRun.objects.filter(conversation=conversation).order_by("-created_at", "-id")
    return str(
        rows.annotate(
            steps_count=Count("steps"),
            calls=progress_of(message__conversation=OuterRef("thread")),
            compaction=Subquery(compactions.values("id")[:1]),
            compaction_status=Subquery(compactions.values("status")[:1]),
        )
        .values_list("id", "status", "turns", "steps_count", "calls", "compaction", "compaction_status")
        .first()
    )


def run_view(run: AgentRun) -> RunView:
    """The run with its steps and compactions in order, in a constant number of queries."""
    steps: list[Step | CompactionEntry] = [Step(row) for row in steps_of(run)]
    entries = sorted([*steps, *(CompactionEntry(row) for row in compactions_of(run))], key=_entry_time)
    return RunView(run, tuple(entries), used_by(run))


def steps_of(run: AgentRun, **which: Any) -> Iterator[AgentStep]:
    """The run's steps in order, with the tool calls that a page shows."""
    calls = Prefetch("message__tool_calls", history.visible_calls())
    rows = AgentStep.objects.filter(run=run, **which).select_related("message").order_by("number")
    yield from rows.prefetch_related(calls)


def compactions_of(run: AgentRun) -> Iterator[Compaction]:
    rows = Compaction.objects.filter(conversation=run.thread_id, status__in=SHOWN_STATUSES)
    yield from rows.defer("steering", "prepared").order_by("created_at", "id")


def used_by(run: AgentRun) -> FlowUsage | None:
    """The executor's use of its own budget: now, or in its last request if the run has ended."""
    used = usage.flow_usage(transcript.load(run.thread_id))
    if used is None or run.is_open:
        return used
    replies = Message.objects.filter(replay.WITH_RECORD, conversation=run.thread_id).order_by("-created_at")
    recorded = replies.values_list("request", flat=True).first()
    return replace(used, history=sum(recorded["tokens"][part] for part in HISTORY)) if recorded else used


def shown_at(run: AgentRun) -> ToolCall | None:
    """The planner's tool call in whose place a page shows the run."""
    place = history.planner_steps().filter(run=run).values(place=history.place_of_run(OuterRef("run")))[:1]
    return history.visible_calls().filter(pk=Subquery(place)).select_related("message").first()


def last_run(conversation: Conversation) -> AgentRun | None:
    if conversation.kind != Conversation.Kind.AGENT:
        return None
    return AgentRun.objects.filter(conversation=conversation).order_by("-created_at", "-id").first()


def waited_for(conversation: Conversation) -> str:
    """The work for which a reply that has not begun waits, in words; "" if it waits for the model."""
    call = _unfinished_call(conversation.pk)
    if call is None:
        return ""
    if conversation.kind != Conversation.Kind.AGENT or call.name not in tools.PLANNERS:
        return f"{called(call)}…"
    run = AgentRun.objects.filter(conversation=conversation, status=AgentRun.Status.RUNNING).first()
    return _executor_activity(run) if run else _("The executor begins…")


def _executor_activity(run: AgentRun) -> str:
    if Compaction.objects.filter(conversation=run.thread_id, status__in=Compaction.ACTIVE).exists():
        return _("The executor compacts its history…")
    call = _unfinished_call(run.thread_id)
    return _("The executor works: %(tool)s…") % {"tool": called(call)} if call else _("The executor works…")


def _unfinished_call(conversation_id: Any) -> ToolCall | None:
    """The last message's call that is running, else its next pending call."""
    messages = Message.objects.filter(conversation=conversation_id, replaced_by=None)
    last = messages.exclude(status=Message.Status.STREAMING).order_by("-created_at").values("pk")[:1]
    rows = ToolCall.objects.filter(message=Subquery(last), status__in=ToolCall.UNFINISHED).defer("result")
    return rows.order_by("-status", "id").first()


def _entry_time(entry: Step | CompactionEntry) -> Any:
    return entry.message.created_at if isinstance(entry, Step) else entry.compaction.created_at
