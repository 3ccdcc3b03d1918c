"""Loads a conversation's messages as the engine's values: those kept from before the cut, and all after it.

It takes two queries for a conversation of any length: the cut is read first and passed as a value, so that the
second query seeks in the index of (conversation, created_at).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from compression.core.context import render_context
from compression.core.plan.starting_point import StartingPoint, starting_point
from compression.core.recall.recall import Recalled
from compression.core.request_usage import usage
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Image, ToolUse, Transcript, Turn, Usage, Window
from compression.core.window import groups
from compression.history import BEGINNING
from compression.records import active_checkpoints
from conversations.compiled_query import EXAMPLE_ID, Prepared
from conversations.context.elisions import UNKNOWN_NUMBER, elision, of_callers, placeholder
from conversations.context.head import Head, head_of
from conversations.context.provenance import boilerplate_places, quoted_places, source_of
from conversations.models import Conversation, Message

FINISHED = Q(status=Message.Status.COMPLETE) | (
    Q(status__in=(Message.Status.STOPPED, Message.Status.INTERRUPTED)) & ~Q(content="")
)
HISTORY = Q(replaced_by=None) & FINISHED
"""The messages that can be part of a request."""
CONTINUE = "Continue exactly where you stopped."
"""The user message that asks for the rest of a reply that ended early."""
TRUNCATED = "… [truncated]"
NO_RESULT = "[no result recorded]"
ORPHAN = "[Result of a tool]\n"
RECORD = "[System message of an earlier conversation, as a record]\n"
PREFIXES = {"tool": ORPHAN, "system": RECORD}
"""The text before a message that is sent as the user's, by its role: a provider would refuse it in its place, or it
must not instruct the model."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversation loaded for its next request: its head, the kept messages, and the live ones after the cut."""

    head: Head
    kept: tuple[Turn, ...]
    live: tuple[Turn, ...]
    recalled: Recalled | None = None
    """The passages quoted from the compacted part, once `conversations.memory.recall` has looked for them."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.kept + self.live

    @property
    def waiting(self) -> int:
        """The number of last turns that are not answered yet: a user's message, or tool calls with their results."""
        if self.head.kind == Conversation.Kind.GATEWAY:
            return sum(map(len, groups(self.live)[-1:]))
        return int(bool(self.live) and self.live[-1].role == "user") or int(self.is_at_tools)

    @property
    def is_at_tools(self) -> bool:
        """Whether a reply is being written and its tools have been called."""
        return self.head.is_at_work and bool(self.live) and bool(self.live[-1].tools)

    def usage(self, *, system_tokens: int) -> Usage | None:
        """The tokens of the next request by part; None if no model is set."""
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
    """The conversation loaded for its next request. Raises Conversation.DoesNotExist."""
    head = head_of(conversation_id)
    rows = LIVE.rows(conversation=conversation_id, after=head.compressed_at or BEGINNING)
    kept = _turns(_columns(Message.objects.kept(head.verbatim_ids))) if head.verbatim_ids else ()
    loaded = Loaded(head, kept, _turns(rows))
    if loaded.is_at_tools:
        loaded = _with_protected_question(loaded)
    return elided(loaded) if head.elided else loaded


def _with_protected_question(loaded: Loaded) -> Loaded:
    """The conversation with the question of a running reply protected, so that it is sent verbatim until answered."""
    question = next((turn for turn in reversed(loaded.turns) if turn.role == "user"), None)
    if question is None:
        return loaded

    def marked(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(replace(turn, protected=True) if turn is question else turn for turn in turns)

    return replace(loaded, kept=marked(loaded.kept), live=marked(loaded.live))


def elided(loaded: Loaded) -> Loaded:
    """The conversation without the tools' results that its head leaves out."""
    left_out = loaded.head.elided

    def as_cheap(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(
            replace(turn, elided=True, **elision(left_out[turn.id])._asdict()) if turn.id in left_out else turn
            for turn in turns
        )

    return replace(loaded, kept=as_cheap(loaded.kept), live=as_cheap(loaded.live))


def transcript(loaded: Loaded, *, system_tokens: int, window: Window, rebuild: bool) -> Transcript:
    """The input of a compaction of the conversation; reads the active checkpoints.

    With `rebuild`, provisional checkpoints are omitted and the messages that they cover are read again.
    """
    checkpoints = active_checkpoints(loaded.head.id)
    begin = starting_point(checkpoints)
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


def _from(loaded: Loaded, begin: StartingPoint) -> tuple[Turn, ...]:
    """The turns that the checkpoints of `begin` do not cover, in order."""
    end = loaded.turns[-1].created_at if loaded.turns else loaded.head.compressed_at
    assert end is not None
    apart = {*loaded.head.verbatim_ids, *begin.stragglers} if begin.cut else ()
    earlier = Message.objects.kept(apart, cut=begin.cut) if apart else None
    return (_turns(_columns(earlier)) if earlier is not None else ()) + between(loaded.head.id, begin.cut, end)


def between(conversation_id: UUID, after: datetime | None, up_to: datetime) -> tuple[Turn, ...]:
    """All turns of the history in (after, up_to], whether summarised, kept or protected."""
    return _turns(_columns(Message.objects.filter(conversation_id=conversation_id).within(after, up_to)))


def message_numbers(conversation_id: UUID, moments: Sequence[datetime]) -> list[int]:
    """The numbers in the history, from 1, of the messages of these moments; one query, which reads no content."""
    named = {f"number_{at}": Count("pk", filter=Q(created_at__lte=moment)) for at, moment in enumerate(moments)}
    rows = Message.objects.filter(HISTORY, conversation_id=conversation_id, created_at__lte=max(moments)).order_by()
    return list(rows.aggregate(**named).values())


def originals(
    conversation_id: UUID, after: datetime | None, up_to: datetime, earlier: Sequence[str]
) -> tuple[Turn, ...]:
    """All turns of the history in (after, up_to], with those of the ids in `earlier` from before, in order."""
    before = _turns(_columns(Message.objects.kept(earlier, cut=after))) if earlier and after else ()
    return before + between(conversation_id, after, up_to)


def message_tokens(content: str, tools: Sequence[ToolUse] = (), *, role: str = "user") -> int:
    """Tokens of a message in a request, including its tool calls and their results."""
    return count_tokens(as_sent(role, content)) + MESSAGE_OVERHEAD + sum(tool_tokens(use) for use in tools)


def bare_tokens(
    content: str, tools: Sequence[ToolUse] = (), *, role: str, excerpt: int = 0, of_caller: bool = False
) -> int:
    """Tokens of a message with a placeholder, or an excerpt, in place of each tool's result.

    `of_caller`: the message is one of the gateway's, whose placeholders name no tool to read the result.
    """
    if role == Message.Role.TOOL:
        text = (
            of_callers(content, excerpt) if of_caller else placeholder(content, number=UNKNOWN_NUMBER, excerpt=excerpt)
        )
        return message_tokens(text, tools, role=role)
    bare = [
        replace(use, result=of_callers(use.result or "", excerpt)) if of_caller else _bare(use, UNKNOWN_NUMBER, excerpt)
        for use in tools
    ]
    return message_tokens(content, role=role) + sum(_use_tokens(use) for use in bare)


def _bare(use: ToolUse, number: int | None, excerpt: int) -> ToolUse:
    result = NO_RESULT if use.result is None else use.result
    return replace(use, result=placeholder(result, tool=use.name, number=number, excerpt=excerpt))


def without_results(turn: Turn) -> Turn:
    """An elided turn as it is sent: with placeholders for its results, or excerpts of them."""
    if turn.role == Message.Role.TOOL:
        return replace(turn, content=placeholder(turn.content, number=turn.number, excerpt=turn.excerpt))
    return replace(turn, tools=tuple(_bare(use, turn.number, turn.excerpt) for use in turn.tools))


def as_sent(role: str, content: str) -> str:
    """A message's text as a model gets it.

    A tool's result without a known call, and a system message of the history, are sent as the user's with a prefix:
    only the system prompt may instruct the model.
    """
    return f"{PREFIXES[role]}{content}" if role in PREFIXES else content


def tool_tokens(use: ToolUse) -> int:
    """Tokens of a tool call and of the message with its result."""
    return _use_tokens(replace(use, result=truncated(use.result)))


def _use_tokens(use: ToolUse) -> int:
    """Tokens of a tool call and of the message with its result, however long that is."""
    return sum(count_tokens(text) for text in (use.name, use.arguments, use.result or "")) + MESSAGE_OVERHEAD


def truncated(result: str | None, limit: int | None = None) -> str:
    """A tool's result as it is sent, cut to `limit` characters (None: the setting's limit)."""
    if result is None:
        return NO_RESULT
    limit = settings.TOOL_RESULT_MAX_CHARS if limit is None else limit
    return result if len(result) <= limit else result[:limit] + TRUNCATED


def _columns(messages: QuerySet[Message]) -> QuerySet[Message, Any]:
    """The columns of each message, with one row per tool call: the join keeps it a single query."""
    return (
        messages.filter(HISTORY)
        .order_by("created_at", "tool_calls__id")
        .values_list(
            "id", "role", "content", "created_at", "token_count", "name", "is_protected", "images", "origin",
            "tool_calls__call_id", "tool_calls__name", "tool_calls__arguments", "tool_calls__result",
        )
    )  # fmt: skip


def _live(conversation: UUID, after: datetime) -> QuerySet[Message, Any]:
    return _columns(Message.objects.filter(conversation_id=conversation).after_cut(after))


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
    if not origin:
        return turn
    quoted, boilerplate = quoted_places(origin), boilerplate_places(origin)
    return replace(turn, origin=source_of(origin), quoted=quoted, boilerplate=boilerplate)


def images_of(noted: Sequence[Mapping[str, Any]] | None) -> tuple[Image, ...]:
    """The images that a message's row names."""
    return tuple(Image(image["hash"], image["name"], image["size"]) for image in noted or ())


def _tool_use(row: Sequence[Any]) -> ToolUse:
    call_id, name, arguments, result = row
    return ToolUse(call_id, name, arguments, None if result is None else truncated(result))


LIVE = Prepared(
    _live,
    conversation=(Message._meta.pk, EXAMPLE_ID),
    after=(Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
)
