"""One message as it is read, and how it stands to what the model is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, OuterRef, Prefetch, Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce, Left, Length
from django.utils.safestring import SafeString, mark_safe

from compression.ids import milliseconds_since
from conversations import endings, growing, turn
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.transcript import CONTINUE

PARTS = ("tool_calls", "attachments", "pastes")
OPENING = 2_000
"""Characters of a tool's result that a page has from the start."""
State = Literal["live", "compressed", "protected", "replaced"]


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message in full; `text` is what has streamed so far, or its content."""

    message: Message
    state: State
    text: str
    elided: bool = False
    """Sent, but for its tool results."""
    waits: str = ""
    """What a reply that has not begun waits for."""

    template = "conversations/_message.html"

    @property
    def growing(self) -> SafeString:
        """Of one that is being written: what there is."""
        return mark_safe(growing.so_far(str(self.message.pk), self.text)[1])

    @property
    def says_something(self) -> bool:
        """In words, or by a picture."""
        return bool(self.text or self.message.attachments.all())

    @property
    def work(self) -> str:
        """How far the tools are that it called: another text with each thing that happens."""
        return ",".join(_progress(call) for call in self.message.tool_calls.all())

    @property
    def goes_on(self) -> bool:
        """It asked for what it needs to know: what it was asked for is answered later."""
        return bool(self.message.tool_calls.all())

    @property
    def why_ended(self) -> str:
        """Before it was whole, as its provider told it."""
        return "" if self.goes_on else endings.told(self.message)

    @property
    def failure(self) -> endings.Failure | None:
        """Of a reply that failed or was interrupted."""
        is_interrupted = self.message.status == Message.Status.INTERRUPTED
        error = self.message.error or (endings.NO_REASON if is_interrupted else "")
        return endings.failure(error) if error else None

    @property
    def can_continue(self) -> bool:
        return self.state in ("live", "protected") and endings.can_continue(self.message)

    @property
    def asks_for_the_rest(self) -> bool:
        """Of a reply; nothing else is said in it."""
        return self.message.role == Message.Role.USER and self.message.content == CONTINUE

    @property
    def waited(self) -> int:
        """Seconds since the reply was asked for."""
        return milliseconds_since(self.message.pk) // 1000

    @property
    def only_calls(self) -> bool:
        return not self.says_something and bool(self.message.tool_calls.all())


def bubble(conversation: Conversation, message: Message, *, waits: str = "") -> Bubble:
    text = turn.text_so_far(message) if message.is_streaming else message.content
    state = state_of(conversation, message)
    elided = str(message.pk) in conversation.elided and state in ("live", "protected")
    return Bubble(message, state, text, elided, waits)


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


def whole(rows: QuerySet[Message]) -> QuerySet[Message]:
    """With all that belongs to them, in a constant number of queries; files without their bytes."""
    return rows.prefetch_related(*PARTS)


def complete(message: Message) -> None:
    """The same for one that was read, or stored just now."""
    prefetch_related_objects([message], *PARTS)


def legible(rows: QuerySet[Message]) -> QuerySet[Message]:
    """With what a bubble shows of them: of the results of tools the `opening`, and the `length` in characters."""
    return rows.prefetch_related(*_legible())


def make_legible(message: Message) -> None:
    """The same for one that was read, or stored just now."""
    prefetch_related_objects([message], *_legible())


def calls() -> QuerySet[ToolCall]:
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
    return (Prefetch("tool_calls", calls()), *PARTS[1:])


def _progress(call: ToolCall) -> str:
    run = run_at(call)
    return f"{call.status} {run.status} {run.turns}" if run else call.status


def know(message: Message, **parts: list[Any]) -> Message:
    """As if these parts of it had been read: for one that was stored just now, and is known to have no others."""
    message.__dict__.setdefault("_prefetched_objects_cache", {}).update(parts)
    return message
