"""The compressed past as it is read: folds of its messages, kept ones in full, and dividers where compactions ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, QuerySet, prefetch_related_objects
from django.db.models.functions import Left

from compression.models import Checkpoint, Compaction
from conversations.messages.history import history, state_at, state_of, with_visible_parts
from conversations.messages.search_terms import in_a_line
from conversations.models import Conversation, Message, ToolCall
from conversations.page.message_view import Bubble, bubble
from conversations.page.tool_labels import brief, called

REACH = 1_000
"""Compressed messages that one page looks back over; it shows the first few of each run."""
HEAD = 4
PREVIEW = 240


@dataclass(frozen=True, slots=True)
class Row:
    """One compressed message as a line; it opens in place."""

    message: Message
    preview: str


@dataclass(frozen=True, slots=True)
class Fold:
    """A run of compressed messages: its first rows, and the range (after, until] of the `more` that follow."""

    conversation_id: UUID
    rows: tuple[Row, ...]
    more: int
    after: datetime
    until: datetime

    template = "conversations/_fold.html"


@dataclass(frozen=True, slots=True)
class Divider:
    """Where a compaction's covered range ends, or where the past ends if it made room without folding a message.

    Its summary can be edited for as long as it is in force.
    """

    compaction: Compaction
    can_undo: bool
    can_edit: bool

    template = "conversations/_divider.html"


Item = Bubble | Fold | Divider


class Key(NamedTuple):
    id: UUID
    created_at: datetime
    is_protected: bool


@dataclass
class Run:
    """Compressed messages between two things that are shown in full."""

    keys: list[Key] = field(default_factory=list)

    @property
    def head(self) -> list[Key]:
        # A button that stands for one or two rows would be no shorter than they are.
        return self.keys if len(self.keys) <= HEAD + 2 else self.keys[:HEAD]


Placed = dict[UUID, list[Divider]]
"""Dividers by the message that they follow."""
Mark = Run | Key | Divider
"""What the past consists of before its rows are read: runs, kept messages, dividers."""


def items(conversation: Conversation, keys: Sequence[Key], placed: Placed) -> list[Item]:
    """What is shown of the messages of `keys`, which come newest first, with the dividers among them."""
    return _items(conversation, _marks(conversation, keys, placed))


def rows(conversation: Conversation, *, after: datetime, until: datetime) -> list[Row]:
    """The compressed messages of a fold that it did not show: later than `after`, up to `until`."""
    found = history(conversation).filter(created_at__gt=after, created_at__lte=until).order_by("created_at")
    return [row for row in _rows(found[:REACH]) if state_of(conversation, row.message) == "compressed"]


def keys_of(conversation: Conversation, before: datetime | None) -> list[Key]:
    """Newest first, and one more than REACH where there are more."""
    if not conversation.compressed_at:
        return []
    messages = history(conversation).filter(created_at__lte=conversation.compressed_at).order_by("-created_at")
    if before:
        messages = messages.filter(created_at__lt=before)
    return [Key(*row) for row in messages.values_list(*Key._fields)[: REACH + 1]]


def _marks(conversation: Conversation, keys: Sequence[Key], dividers: Placed) -> list[Mark]:
    """The past, oldest first, cut into runs at dividers and at messages that are sent verbatim."""
    marks: list[Mark] = []
    for key in reversed(keys):
        if state_at(conversation, *key) != "compressed":
            marks.append(key)
        elif marks and isinstance(marks[-1], Run):
            marks[-1].keys.append(key)
        else:
            marks.append(Run([key]))
        marks += dividers.get(key.id, ())
    return marks


def dividers(conversation: Conversation) -> tuple[Placed, list[Divider]]:
    """Of compactions that folded messages; and of those that made room since the last one and folded none.

    Only the last compaction can be undone from the page.
    """
    own = Checkpoint.objects.filter(compaction=OuterRef("pk"), last_message=OuterRef("last_message"), active=True)
    done = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    done = done.annotate(in_force=Exists(own)).defer("steering").order_by("-created_at", "-id")
    placed: Placed = {}
    since: list[Divider] = []
    for at, compaction in enumerate(done):
        divider = Divider(compaction, can_undo=at == 0, can_edit=compaction.in_force)
        if compaction.last_message:
            placed.setdefault(compaction.last_message, []).insert(0, divider)
        elif not placed:
            since.insert(0, divider)
    return placed, since


def _items(conversation: Conversation, marks: Iterable[Mark]) -> list[Item]:
    marks = list(marks)
    heads = {
        row.message.id: row
        for row in _rows(_by_id(key for mark in marks if isinstance(mark, Run) for key in mark.head))
    }
    kept = with_visible_parts(_by_id(mark for mark in marks if isinstance(mark, Key)))
    full = {message.id: bubble(conversation, message) for message in kept}
    items: list[Item] = []
    for mark in marks:
        if isinstance(mark, Divider):
            items.append(mark)
        elif isinstance(mark, Run):
            items.append(_fold(conversation, mark, heads))
        else:
            items.append(full[mark.id])
    return items


def _fold(conversation: Conversation, run: Run, heads: dict[UUID, Row]) -> Fold:
    head = run.head
    return Fold(
        conversation.id,
        tuple(heads[key.id] for key in head),
        more=len(run.keys) - len(head),
        after=head[-1].created_at,
        until=run.keys[-1].created_at,
    )


def _by_id(keys: Iterable[Key]) -> QuerySet[Message]:
    return Message.objects.filter(pk__in=[key.id for key in keys])


def _rows(messages: QuerySet[Message]) -> list[Row]:
    light = list(messages.annotate(opening=Left("content", PREVIEW)).defer("content", "error", "request"))
    wordless = [message for message in light if not message.opening]
    prefetch_related_objects(wordless, Prefetch("tool_calls", ToolCall.objects.defer("result", "error")))
    return [Row(message, in_a_line(message.opening) or _pictures(message) or _calls(message)) for message in light]


def _pictures(message: Message) -> str:
    """The names of what was sent without a word."""
    return ", ".join(image["name"] for image in message.images or ())


def _calls(message: Message) -> str:
    """What was called without a word."""
    return ", ".join(f"{called(call)} {brief(call)}".strip() for call in message.tool_calls.all())[:PREVIEW]
