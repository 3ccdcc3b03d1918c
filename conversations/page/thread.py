"""A conversation's thread as a page shows it: groups of compacted messages with dividers, then the live messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID
from zlib import crc32

from django.db.models import OuterRef, QuerySet

from compression.history import BEGINNING
from conversations.compiled_query import EXAMPLE_ID, Prepared
from conversations.messages.history import history, visible_since, with_visible_parts
from conversations.models import Conversation, Message
from conversations.page import agent_view, compacted_history
from conversations.page.compacted_history import REACH, Item
from conversations.page.ledger_view import entries_below
from conversations.page.message_view import MessageView, view_of

LIMIT = 60
"""The most live messages of one page."""
PROGRESS = agent_view.progress_of(message=OuterRef("pk"))


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Items, oldest first; `earlier` is the `before` of the preceding page (None: there is none)."""

    items: tuple[Item, ...]
    earlier: datetime | None = None


def thread_page(conversation: Conversation, *, before: datetime | None = None, limit: int = LIMIT) -> ThreadPage:
    """The newest page of the thread, or the page that precedes `before`. The number of queries is constant."""
    live = _live_messages(conversation, before, limit)
    placed, since = compacted_history.dividers(conversation)
    present: list[Item] = [*_message_views(conversation, reversed(live[:limit]))]
    if not before:
        present = [*since, *present]
    if len(live) > limit:
        return ThreadPage(tuple(present), live[limit - 1].created_at)
    keys = compacted_history.keys_of(conversation, before)
    earlier = keys[REACH - 1].created_at if keys[REACH:] else None
    return ThreadPage((*compacted_history.items(conversation, keys[:REACH], placed), *present), earlier)


class Key(NamedTuple):
    """A message's identity and state; `progress` rises when a tool call is made, begins or ends."""

    id: UUID
    created_at: datetime
    role: str
    status: str
    is_protected: bool
    progress: int | None


@dataclass(frozen=True, slots=True)
class ShownThread:
    """The keys of the messages that a page shows in full, newest first: enough to find the changes since a version.

    `run` changes with the progress of the last task that an agent gave its executor.
    """

    conversation: Conversation
    keys: tuple[Key, ...]
    run: str = ""

    @property
    def version(self) -> str:
        """A text that changes with everything the thread and its head show, except the text of a streaming reply."""
        when, state = self.conversation.updated_at.timestamp(), self.conversation.compression_version
        last = self.keys[0] if self.keys else None
        end = f"{last.id}:{last.status}" if last else ":"
        return f"{when}-{self._head}:{state}:{_fingerprint(self.keys[:LIMIT])}:{end}:{self._work}"

    @property
    def _head(self) -> str:
        """A checksum of the fields that the page's head and the meter show."""
        row = self.conversation
        shown = row.title, row.model_id, row.effort, row.mode, row.goal_text, row.system_prompt, row.policy, row.rules
        return f"{crc32(repr(shown).encode()):x}"

    @property
    def _work(self) -> str:
        """A checksum of the tools' progress in the current turn; earlier turns do not change."""
        return f"{crc32(f'{[key.progress for key in self._turn()]}{self.run}'.encode()):x}"

    def _turn(self) -> list[Key]:
        """The messages since the last user message."""
        return list(takewhile(lambda key: key.role != Message.Role.USER, self.keys))

    def since(self, version: str) -> list[MessageView] | None:
        """Messages added or changed since `version`; None if more than the end of the thread changed."""
        _, state, seen, last, status, work = version.split(":") if version.count(":") == 5 else [""] * 6
        place = next((place for place, key in enumerate(self.keys) if str(key.id) == last), None)
        if place is None or state != str(self.conversation.compression_version):
            return None
        if seen != _fingerprint(self.keys[place : place + LIMIT]):
            return None
        then = self.keys[place]
        changed = then.status != status or then.status == Message.Status.STREAMING
        keys = {*self.keys[: place + changed]}
        if work != self._work:
            keys |= {key for key in self._turn() if key.progress}
        if not keys:
            return []
        ids = {key.id for key in keys}
        rows = visible_since(self.conversation.pk, min(key.created_at for key in keys))
        return _message_views(self.conversation, [row for row in rows if row.pk in ids])


def shown_messages(conversation: Conversation) -> ShownThread:
    """The conversation's keys: those of a page, and as many again to allow for new messages."""
    rows = _KEYS.rows(conversation=conversation.pk, after=conversation.compressed_at or BEGINNING)
    return ShownThread(conversation, tuple(Key(*row) for row in rows), agent_view.progress(conversation))


def _key_rows(conversation: UUID, after: datetime) -> QuerySet[Message, Any]:
    rows = Message.objects.filter(conversation=conversation, replaced_by=None, created_at__gt=after)
    return rows.order_by("-created_at").annotate(progress=PROGRESS).values_list(*Key._fields)[: 2 * LIMIT]


_KEYS = Prepared(
    _key_rows,
    conversation=(Conversation._meta.pk, EXAMPLE_ID),
    after=(Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
)
"""The rows of `shown_messages`, compiled: every fetch of a page runs it."""


def version(conversation: Conversation) -> str:
    return shown_messages(conversation).version


def _fingerprint(keys: tuple[Key, ...]) -> str:
    """A checksum of how these messages look, without the status of the newest."""
    parts = [f"{key.id}{key.is_protected}{key.status if place else ''}" for place, key in enumerate(keys)]
    return f"{crc32(''.join(parts).encode()):x}"


def _message_views(conversation: Conversation, rows: Iterable[Message]) -> list[MessageView]:
    """The rows as messages to show; one more query for entries of the ledger, one or two if the last streams."""
    rows = list(rows)
    waits = agent_view.waited_for(conversation) if rows and rows[-1].is_streaming else ""
    entries = entries_below(conversation.pk, rows)
    return [
        view_of(conversation, row, waits=waits if row.is_streaming else "", entries=entries[row.pk]) for row in rows
    ]


def later(conversation: Conversation, message: Message) -> int:
    """The number of messages of the history after `message`."""
    return history(conversation).filter(created_at__gt=message.created_at).count()


def newest(conversation: Conversation) -> UUID | None:
    """The id of the newest message, which a form sends back as `seen`; see `later_than_seen`."""
    rows = conversation.messages.filter(replaced_by=None).order_by("-created_at")
    return rows.values_list("pk", flat=True).first()


def later_than_seen(conversation: Conversation, seen: UUID | None) -> int:
    """The number of messages of the history that are newer than the message `seen`; 0 if `seen` is None or unknown."""
    at = conversation.messages.filter(pk=seen).first() if seen else None
    return later(conversation, at) if at else 0


def is_streaming(conversation: Conversation) -> bool:
    last = conversation.messages.order_by("-created_at").values_list("status", flat=True).first()
    return last == Message.Status.STREAMING


def _live_messages(conversation: Conversation, before: datetime | None, limit: int) -> list[Message]:
    """Live messages before `before`, newest first; `limit` + 1 of them if there are more than `limit`."""
    messages = with_visible_parts(_live_rows(conversation))
    if before:
        messages = messages.filter(created_at__lt=before)
    return list(messages[: limit + 1])


def _live_rows(conversation: Conversation) -> QuerySet[Message]:
    messages = history(conversation).order_by("-created_at")
    return messages.filter(created_at__gt=conversation.compressed_at) if conversation.compressed_at else messages
