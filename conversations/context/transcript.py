"""Rows as the engine's values: what stands before the cut and is kept, and everything after it.

Two queries, whatever the length of the conversation: the cut is read first and passed as a value, so that the
second one seeks in the index of (conversation, created_at).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from compression.core import rebuild as rebuilding
from compression.core.context import render_context
from compression.core.measure import usage
from compression.core.recall import Recalled
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Image, ToolUse, Transcript, Turn, Usage, Window
from compression.core.window import groups
from compression.records import active_checkpoints
from conversations.context.head import Head, head_of
from conversations.context.provenance import from_of, places_of
from conversations.models import Conversation, Message
from conversations.runtime.compiled_query import Prepared

SAID = Q(status=Message.Status.COMPLETE) | (
    Q(status__in=(Message.Status.STOPPED, Message.Status.INTERRUPTED)) & ~Q(content="")
)
HISTORY = Q(replaced_by=None) & SAID
"""The messages that a model is ever told about."""
BEGINNING = datetime.min.replace(tzinfo=UTC)
"""Before every message."""
CONTINUE = "Continue exactly where you stopped."
"""What asks for the rest of a reply that ended before it was whole."""
TRUNCATED = "… [truncated]"
NO_RESULT = "[no result recorded]"
ORPHAN = "[Result of a tool]\n"
RECORD = "[System message of an earlier conversation, as a record]\n"
TOLD_AS = {"tool": ORPHAN, "system": RECORD}
"""What is said before messages that no provider takes where they stand, or that must not instruct the model."""
ELIDED = "[This result was left out to make room; it is stored in full.]"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversation as the next request is made of it: the kept messages, then the live ones."""

    head: Head
    kept: tuple[Turn, ...]
    live: tuple[Turn, ...]
    recalled: Recalled | None = None
    """What is quoted of the compacted part, where it was looked for (`conversations.context.recall`)."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.kept + self.live

    @property
    def waiting(self) -> int:
        """How many of the last are to be answered: what was said, or the results of tools that were called."""
        if self.head.kind == Conversation.Kind.GATEWAY:
            return sum(map(len, groups(self.live)[-1:]))
        return int(bool(self.live) and self.live[-1].role == "user") or int(self.is_at_tools)

    @property
    def is_at_tools(self) -> bool:
        """Whether tools were called for a reply that is in the making."""
        return self.head.is_at_work and bool(self.live) and bool(self.live[-1].tools)

    def usage(self, *, system_tokens: int) -> Usage | None:
        """Tokens of the next request by part; None where no model is set."""
        window = self.head.window
        if window is None:
            return None
        return usage(
            system=system_tokens,
            summary=self.head.compressed_tokens,
            turns=self.turns,
            window=window,
            recalled=self.recalled.tokens if self.recalled else 0,
        )


def load(conversation_id: UUID) -> Loaded:
    """Raises Conversation.DoesNotExist."""
    head = head_of(conversation_id)
    live = LIVE.rows(conversation=conversation_id, after=head.compressed_at or BEGINNING)
    kept = _turns(_columns(Message.objects.filter(pk__in=head.verbatim_ids))) if head.verbatim_ids else ()
    loaded = Loaded(head, kept, _turns(live))
    if loaded.is_at_tools:
        loaded = _asked(loaded)
    return _elided(loaded) if head.elided else loaded


def _asked(loaded: Loaded) -> Loaded:
    """The same, with the question that tools are called for protected: until it is answered, its words are sent."""
    question = next((turn for turn in reversed(loaded.turns) if turn.role == "user"), None)
    if question is None:
        return loaded

    def marked(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(replace(turn, protected=True) if turn is question else turn for turn in turns)

    return replace(loaded, kept=marked(loaded.kept), live=marked(loaded.live))


def _elided(loaded: Loaded) -> Loaded:
    """The same, without the results of tools that were left out to make room."""
    left_out = loaded.head.elided

    def as_cheap(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(
            replace(turn, elided=True, tokens=left_out[turn.id]) if turn.id in left_out else turn for turn in turns
        )

    return replace(loaded, kept=as_cheap(loaded.kept), live=as_cheap(loaded.live))


def transcript(loaded: Loaded, *, system_tokens: int, window: Window, rebuild: bool) -> Transcript:
    """What a compaction of it starts from; reads the active checkpoints.

    With `rebuild` the notes of a truncation are left out, and the messages that they stand for are read again.
    """
    checkpoints = active_checkpoints(loaded.head.id)
    begin = rebuilding.starting_point(checkpoints)
    if not rebuild or begin.checkpoints == checkpoints:
        return Transcript(
            turns=loaded.turns,
            window=window,
            system_tokens=system_tokens,
            context_tokens=loaded.head.compressed_tokens,
            checkpoints=checkpoints,
            cut=loaded.head.compressed_at,
            waiting=loaded.waiting,
            goal=loaded.head.goal,
        )
    return Transcript(
        turns=_from(loaded, begin),
        window=window,
        system_tokens=system_tokens,
        context_tokens=message_tokens(render_context(begin.checkpoints)) if begin.checkpoints else 0,
        checkpoints=begin.checkpoints,
        cut=begin.cut,
        waiting=loaded.waiting,
        goal=loaded.head.goal,
    )


def _from(loaded: Loaded, begin: rebuilding.StartingPoint) -> tuple[Turn, ...]:
    """What the checkpoints of `begin` do not stand for, in order."""
    end = loaded.turns[-1].created_at if loaded.turns else loaded.head.compressed_at
    assert end is not None
    apart = {*loaded.head.verbatim_ids, *begin.stragglers} if begin.cut else ()
    earlier = Message.objects.filter(pk__in=apart, created_at__lte=begin.cut) if apart else None
    return (_turns(_columns(earlier)) if earlier is not None else ()) + between(loaded.head.id, begin.cut, end)


def between(conversation_id: UUID, after: datetime | None, up_to: datetime) -> tuple[Turn, ...]:
    """The history of (after, up_to], whether represented, kept or protected."""
    span = Message.objects.filter(conversation_id=conversation_id, created_at__gt=after or BEGINNING)
    return _turns(_columns(span.filter(created_at__lte=up_to)))


def message_tokens(content: str, tools: Sequence[ToolUse] = (), *, role: str = "user") -> int:
    """What a message costs in a request, its tool calls and their results included."""
    return count_tokens(as_sent(role, content)) + MESSAGE_OVERHEAD + sum(tool_tokens(use) for use in tools)


def as_sent(role: str, content: str) -> str:
    """A message's text as a model gets it.

    A result whose call is not known is told by a person, as one; so is a system message of a history: what the model
    is to follow is its system prompt alone.
    """
    return f"{TOLD_AS[role]}{content}" if role in TOLD_AS else content


def tool_tokens(use: ToolUse) -> int:
    """A call, and the message that brings its result."""
    return count_tokens(use.name) + count_tokens(use.arguments) + count_tokens(truncated(use.result)) + MESSAGE_OVERHEAD


def truncated(result: str | None, limit: int | None = None) -> str:
    """A tool's result as it is sent, cut to `limit` characters (None: as the settings say)."""
    if result is None:
        return NO_RESULT
    limit = settings.TOOL_RESULT_MAX_CHARS if limit is None else limit
    return result if len(result) <= limit else result[:limit] + TRUNCATED


def _columns(messages: QuerySet[Message]) -> QuerySet[Message, Any]:
    """One row a message, or one a tool call where it has several: joined, so that it stays one query."""
    return (
        messages.filter(HISTORY)
        .order_by("created_at", "tool_calls__id")
        .values_list(
            "id", "role", "content", "created_at", "token_count", "name", "is_protected", "images", "origin",
            "tool_calls__call_id", "tool_calls__name", "tool_calls__arguments", "tool_calls__result",
        )
    )  # fmt: skip


def _live(conversation: UUID, after: datetime) -> QuerySet[Message, Any]:
    return _columns(Message.objects.filter(conversation_id=conversation, created_at__gt=after))


def _turns(rows: Iterable[Sequence[Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for row in rows:
        use = _tool_use(row[9:]) if row[9] is not None else None
        if use and turns and turns[-1].id == str(row[0]):
            turns[-1] = _turn(row, (*turns[-1].tools, use))
        else:
            turns.append(_turn(row, (use,) if use else ()))
    return tuple(turns)


def _turn(row: Sequence[Any], tools: tuple[ToolUse, ...]) -> Turn:
    id, role, content, created_at, tokens, name, protected, images, origin = row[:9]
    turn = Turn(str(id), role, content, created_at, tokens, name, tools, protected, images=images_of(images))
    return replace(turn, origin=from_of(origin), quoted=places_of(origin)) if origin else turn


def images_of(noted: Sequence[Mapping[str, Any]] | None) -> tuple[Image, ...]:
    """As a message's row names them."""
    return tuple(Image(image["hash"], image["name"], image["size"]) for image in noted or ())


def _tool_use(row: Sequence[Any]) -> ToolUse:
    call_id, name, arguments, result = row
    return ToolUse(call_id, name, arguments, None if result is None else truncated(result))


LIVE = Prepared(
    _live,
    conversation=(Message._meta.pk, UUID("00000000-0000-7000-8000-00000000c0de")),
    after=(Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
)
