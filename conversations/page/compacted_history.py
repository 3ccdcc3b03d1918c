"""The compacted history as a page shows it: groups of message lines, protected messages in full, and dividers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape
from typing import NamedTuple
from uuid import UUID

from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.db.models.functions import Left

from compression.models import Compaction
from conversations.messages.history import history, state_at, state_of, with_visible_parts
from conversations.messages.search_terms import in_a_line
from conversations.models import Conversation, Message, ToolCall
from conversations.page.message_view import MessageView, view_of
from conversations.page.tool_labels import brief, called

REACH = 1_000
"""The most compacted messages that one page reads; it shows the first few of each group."""
HEAD = 4
"""Lines of a group that are shown before its button."""
PREVIEW = 240
"""Characters of a line's preview."""
_FILE = re.compile(r'\A<file name="([^"]{0,1000})">\n')


@dataclass(frozen=True, slots=True)
class Row:
    """A compacted message as a line that opens in place."""

    message: Message
    preview: str


@dataclass(frozen=True, slots=True)
class CompactedGroup:
    """A group of compacted messages: its first rows, and the range (after, until] of the other `more` messages."""

    conversation_id: UUID
    rows: tuple[Row, ...]
    more: int
    after: datetime
    until: datetime

    template = "conversations/thread/_compacted.html"


@dataclass(frozen=True, slots=True)
class Divider:
    """Marks the end of a compaction's covered range, or the end of the history if the compaction covered no message."""

    compaction: Compaction
    can_undo: bool

    template = "conversations/thread/_divider.html"


Item = MessageView | CompactedGroup | Divider


class Key(NamedTuple):
    id: UUID
    created_at: datetime
    is_protected: bool


@dataclass
class RowGroup:
    """Compacted messages that follow each other without a divider or a protected message."""

    keys: list[Key] = field(default_factory=list)

    @property
    def head(self) -> list[Key]:
        # A button that stands for one or two rows would be no shorter than they are.
        return self.keys if len(self.keys) <= HEAD + 2 else self.keys[:HEAD]


Placed = dict[UUID, list[Divider]]
"""Dividers by the message that they follow."""
Mark = RowGroup | Key | Divider
"""An item of the history before its rows are read: a group, a protected message or a divider."""


def items(conversation: Conversation, keys: Sequence[Key], placed: Placed) -> list[Item]:
    """The items to show for `keys` (newest first) and the dividers among them, oldest first."""
    return _items(conversation, _marks(conversation, keys, placed))


def rows(conversation: Conversation, *, after: datetime, until: datetime) -> list[Row]:
    """The compacted messages of a group that were not shown yet: later than `after`, up to `until`."""
    messages = history(conversation).filter(created_at__gt=after, created_at__lte=until).order_by("created_at")
    return [row for row in _rows(messages[:REACH]) if state_of(conversation, row.message) == "compressed"]


def keys_of(conversation: Conversation, before: datetime | None) -> list[Key]:
    """The keys of the compacted history before `before`, newest first; at most REACH + 1."""
    if not conversation.compressed_at:
        return []
    messages = history(conversation).filter(created_at__lte=conversation.compressed_at).order_by("-created_at")
    if before:
        messages = messages.filter(created_at__lt=before)
    return [Key(*row) for row in messages.values_list(*Key._fields)[: REACH + 1]]


def _marks(conversation: Conversation, keys: Sequence[Key], dividers: Placed) -> list[Mark]:
    """The history, oldest first, cut into groups at dividers and at messages that are sent verbatim."""
    marks: list[Mark] = []
    for key in reversed(keys):
        if state_at(conversation, *key) != "compressed":
            marks.append(key)
        elif marks and isinstance(marks[-1], RowGroup):
            marks[-1].keys.append(key)
        else:
            marks.append(RowGroup([key]))
        marks += dividers.get(key.id, ())
    return marks


def dividers(conversation: Conversation) -> tuple[Placed, list[Divider]]:
    """Dividers by the last message that each compaction covered; and of the later compactions that covered no message.

    Only the last compaction can be undone from the page.
    """
    done = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    done = done.defer("steering").order_by("-created_at", "-id")
    placed: Placed = {}
    since: list[Divider] = []
    for at, compaction in enumerate(done):
        divider = Divider(compaction, can_undo=at == 0)
        if compaction.last_message:
            placed.setdefault(compaction.last_message, []).insert(0, divider)
        elif not placed:
            since.insert(0, divider)
    return placed, since


def _items(conversation: Conversation, marks: Iterable[Mark]) -> list[Item]:
    marks = list(marks)
    heads = {
        row.message.id: row
        for row in _rows(_messages_by_id(key for mark in marks if isinstance(mark, RowGroup) for key in mark.head))
    }
    kept = with_visible_parts(_messages_by_id(mark for mark in marks if isinstance(mark, Key)))
    full = {message.id: view_of(conversation, message, entries=()) for message in kept}
    items: list[Item] = []
    for mark in marks:
        if isinstance(mark, Divider):
            items.append(mark)
        elif isinstance(mark, RowGroup):
            items.append(_compacted_group(conversation, mark, heads))
        else:
            items.append(full[mark.id])
    return items


def _compacted_group(conversation: Conversation, run: RowGroup, heads: dict[UUID, Row]) -> CompactedGroup:
    head = run.head
    return CompactedGroup(
        conversation.id,
        tuple(heads[key.id] for key in head),
        more=len(run.keys) - len(head),
        after=head[-1].created_at,
        until=run.keys[-1].created_at,
    )


def _messages_by_id(keys: Iterable[Key]) -> QuerySet[Message]:
    return Message.objects.filter(pk__in=[key.id for key in keys])


def _rows(messages: QuerySet[Message]) -> list[Row]:
    light = list(messages.annotate(opening=Left("content", PREVIEW)).defer("content", "error", "request"))
    wordless = [message for message in light if not message.opening]
    prefetch_related_objects(wordless, Prefetch("tool_calls", ToolCall.objects.defer("result", "error")))
    return [
        Row(message, in_a_line(_without_mark(message)) or _image_names(message) or _call_lines(message))
        for message in light
    ]


def _without_mark(message: Message) -> str:
    """The opening of a message, with the name of the file that it begins with in place of the file's mark."""
    opening: str = getattr(message, "opening", "")
    return _FILE.sub(lambda found: f"{unescape(found[1])}: ", opening, count=1)


def _image_names(message: Message) -> str:
    """The names of a message's images, the preview of a message without text."""
    return ", ".join(image["name"] for image in message.images or ())


def _call_lines(message: Message) -> str:
    """The message's tool calls, the preview of a message without text."""
    return ", ".join(f"{called(call)} {brief(call)}".strip() for call in message.tool_calls.all())[:PREVIEW]
