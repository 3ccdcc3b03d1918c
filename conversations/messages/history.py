"""Queries a conversation's messages with their parts, and derives each message's state, such as live or compacted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, Model, OuterRef, Prefetch, Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce, Left, Length

from conversations.compiled_query import EXAMPLE_ID, PreparedObjects
from conversations.models import AgentRun, AgentStep, Attachment, Conversation, Message, Paste, ToolCall

PARTS = ("tool_calls", "attachments", "pastes")
OPENING = 2_000
"""The characters of a tool's result that a page shows at first."""
State = Literal["live", "compressed", "protected", "replaced"]


def state_of(conversation: Conversation, message: Message) -> State:
    """The present state of a message."""
    if message.replaced_by_id:
        return "replaced"
    return state_at(conversation, message.id, message.created_at, message.is_protected)


def state_at(conversation: Conversation, id: UUID, created_at: datetime, is_protected: bool) -> State:
    """The present state of a message that was not replaced, from these columns alone."""
    if is_protected:
        return "protected"
    cut = conversation.compressed_at
    return "compressed" if cut and created_at <= cut and str(id) not in conversation.verbatim_ids else "live"


def history(conversation: Conversation) -> QuerySet[Message]:
    """The conversation's messages that were not replaced, unfinished replies included."""
    return Message.objects.filter(conversation=conversation, replaced_by=None)


def with_parts(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Messages with their tool calls, files and pastes, in a constant number of queries; files without their bytes."""
    return rows.prefetch_related(*PARTS)


def load_parts(message: Message) -> None:
    """Load the parts of `with_parts` into a message that was read or stored already."""
    prefetch_related_objects([message], *PARTS)


def with_visible_parts(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Messages with the parts that a page shows; of a tool's result the `opening`, and its `length` in characters.

    Thoughts are read when they are opened.
    """
    return rows.defer("thoughts", "returned_thoughts").prefetch_related(*_legible())


def load_visible_parts(message: Message) -> None:
    """Load the parts of `with_visible_parts` into a message that was read or stored already."""
    prefetch_related_objects([message], *_legible())


def visible_since(conversation: UUID, since: datetime) -> list[Message]:
    """The messages of the history from `since` on, oldest first, as `with_visible_parts` reads them.

    Compiled, because each page that returns runs it: four queries, and one more for the steps of tool calls.
    """
    calls = _CALLS.all(conversation=conversation, since=since)
    if calls:
        prefetch_related_objects(calls, _steps_to_executors())
    parts: dict[str, Sequence[Any]] = {
        "tool_calls": calls,
        "attachments": _ATTACHMENTS.all(conversation=conversation, since=since),
        "pastes": _PASTES.all(conversation=conversation, since=since),
    }
    placed: dict[tuple[UUID, str], list[Any]] = defaultdict(list)
    for name, found in parts.items():
        for part in found:
            placed[part.message_id, name].append(part)
    rows = _VISIBLE.all(conversation=conversation, since=since)
    for row in rows:
        set_parts(row, **{name: placed[row.pk, name] for name in parts})
    return rows


def visible_calls() -> QuerySet[ToolCall]:
    """Tool calls as a page shows them, with their steps to executors; `place` is the call at which a run is shown."""
    return _opened_calls().prefetch_related(_steps_to_executors())


def _opened_calls() -> QuerySet[ToolCall]:
    return ToolCall.objects.annotate(opening=Left("result", OPENING), length=Length("result")).defer("result")


def _steps_to_executors() -> Prefetch[str]:
    return Prefetch("steps", planner_steps().annotate(place=place_of_run(OuterRef("run"))).select_related("run"))


def planner_steps() -> QuerySet[AgentStep]:
    """The steps that planners sent to executors, as far as their tool calls still exist."""
    return AgentStep.objects.filter(kind__in=AgentStep.BY_PLANNER, call__isnull=False)


def place_of_run(run: OuterRef) -> Coalesce:
    """The call at which a run is shown: its first call in a message shown in full, else its first call."""
    calls = planner_steps().filter(run=run).order_by("number").values("call")
    is_live = Q(call__message__created_at__gt=F("run__conversation__compressed_at"))
    is_shown = is_live | Q(run__conversation__compressed_at=None) | Q(call__message__is_protected=True)
    return Coalesce(Subquery(calls.filter(is_shown)[:1]), Subquery(calls[:1]))


def run_at(call: ToolCall) -> AgentRun | None:
    """The run that a page shows at this call, if any."""
    return next((step.run for step in call.steps.all() if _place(step) == call.pk), None)


def _place(step: AgentStep) -> int | None:
    """The call at which a step's run is shown; without the annotation, the call that began the run."""
    begun = step.call_id if step.kind == AgentStep.Kind.ASSIGNMENT else None
    place: int | None = step.__dict__.get("place", begun)
    return place


_SINCE: dict[str, tuple[Any, Any]] = {
    "conversation": (Conversation._meta.pk, EXAMPLE_ID),
    "since": (Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
}


def _since[Part: Model](parts: Callable[[], QuerySet[Part]]) -> PreparedObjects[Part]:
    """The parts of a conversation's messages from `since` on."""
    return PreparedObjects(
        lambda conversation, since: parts().filter(message__conversation=conversation, message__created_at__gte=since),
        **_SINCE,
    )


_VISIBLE = PreparedObjects(
    lambda conversation, since: (
        Message.objects.filter(conversation=conversation, replaced_by=None, created_at__gte=since)
        .defer("thoughts", "returned_thoughts")
        .order_by("created_at")
    ),
    **_SINCE,
)
_CALLS = _since(_opened_calls)
_ATTACHMENTS = _since(Attachment.objects.all)
_PASTES = _since(Paste.objects.all)


@cache
def _legible() -> tuple[str | Prefetch[str], ...]:
    """The lookups of `with_visible_parts`: made once, as that takes as long as reading a message's parts."""
    return (Prefetch("tool_calls", visible_calls()), *PARTS[1:])


def set_parts(message: Message, **parts: list[Any]) -> Message:
    """Fill in the parts of a message that was stored just now and has no others, so that no query reads them."""
    message.__dict__.setdefault("_prefetched_objects_cache", {}).update(parts)
    return message
