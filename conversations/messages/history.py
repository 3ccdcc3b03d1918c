"""Queries of a conversation's messages, with what belongs to them, and how each stands to what the model is sent."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, OuterRef, Prefetch, Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce, Left, Length

from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall

PARTS = ("tool_calls", "attachments", "pastes")
OPENING = 2_000
"""Characters of a tool's result that a page has from the start."""
State = Literal["live", "compressed", "protected", "replaced"]


def state_of(conversation: Conversation, message: Message) -> State:
    """How a message stands now."""
    if message.replaced_by_id:
        return "replaced"
    return state_at(conversation, message.id, message.created_at, message.is_protected)


def state_at(conversation: Conversation, id: UUID, created_at: datetime, is_protected: bool) -> State:
    """The same of one that is known by these alone, and was not replaced."""
    if is_protected:
        return "protected"
    cut = conversation.compressed_at
    return "compressed" if cut and created_at <= cut and str(id) not in conversation.verbatim_ids else "live"


def history(conversation: Conversation) -> QuerySet[Message]:
    """All that was not replaced, unfinished replies too."""
    return Message.objects.filter(conversation=conversation, replaced_by=None)


def with_parts(rows: QuerySet[Message]) -> QuerySet[Message]:
    """With all that belongs to them, in a constant number of queries; files without their bytes."""
    return rows.prefetch_related(*PARTS)


def load_parts(message: Message) -> None:
    """The same for one that was read, or stored just now."""
    prefetch_related_objects([message], *PARTS)


def with_visible_parts(rows: QuerySet[Message]) -> QuerySet[Message]:
    """With what a bubble shows of them: of the results of tools the `opening`, and the `length` in characters."""
    return rows.prefetch_related(*_legible())


def load_visible_parts(message: Message) -> None:
    """The same for one that was read, or stored just now."""
    prefetch_related_objects([message], *_legible())


def visible_calls() -> QuerySet[ToolCall]:
    """Those that a page shows, with what each said to an executor; `place` is the call at which its run is shown."""
    begun = said_to_executors().annotate(place=place_of_run(OuterRef("run"))).select_related("run")
    found = ToolCall.objects.annotate(opening=Left("result", OPENING), length=Length("result")).defer("result")
    return found.prefetch_related(Prefetch("steps", begun))


def said_to_executors() -> QuerySet[AgentStep]:
    """What planners said, by calls that are known still."""
    return AgentStep.objects.filter(kind__in=AgentStep.BY_PLANNER, call__isnull=False)


def place_of_run(run: OuterRef) -> Coalesce:
    """The first call of a run that is shown in full, else the first of all."""
    calls = said_to_executors().filter(run=run).order_by("number").values("call")
    is_live = Q(call__message__created_at__gt=F("run__conversation__compressed_at"))
    is_shown = is_live | Q(run__conversation__compressed_at=None) | Q(call__message__is_protected=True)
    return Coalesce(Subquery(calls.filter(is_shown)[:1]), Subquery(calls[:1]))


def run_at(call: ToolCall) -> AgentRun | None:
    """The run that is shown at a call."""
    return next((step.run for step in call.steps.all() if _place(step) == call.pk), None)


def _place(step: AgentStep) -> int | None:
    """Of one that was read alone: where its run began."""
    begun = step.call_id if step.kind == AgentStep.Kind.ASSIGNMENT else None
    place: int | None = step.__dict__.get("place", begun)
    return place


def _legible() -> tuple[str | Prefetch[str], ...]:
    return (Prefetch("tool_calls", visible_calls()), *PARTS[1:])


def set_parts(message: Message, **parts: list[Any]) -> Message:
    """As if these parts of it had been read: for one that was stored just now, and is known to have no others."""
    message.__dict__.setdefault("_prefetched_objects_cache", {}).update(parts)
    return message
