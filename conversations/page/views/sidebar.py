"""The sidebar of every page: a person's conversations by date of their last change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256
from itertools import groupby

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from conversations.access import CHATS, own_conversations
from conversations.models import Conversation, Message

LIMIT = 60
"""The most conversations of one part of the list."""
RECENT = 5
"""The number of conversations that the home page lists as used last."""
WRITING, UNREAD = "writing", "unread"
AGES = ((0, "Today"), (1, "Yesterday"), (7, "Last 7 days"), (30, "Last 30 days"))


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True)
class Sidebar:
    """A part of the list. `earlier` is the `before` of the next part (None: there is none).

    `is_rest`: this is not the first part. `is_archive`: it lists archived conversations. `is_unused`: the person has no
    conversation, not even an archived one or one in the trash.
    """

    sections: tuple[Section, ...]
    earlier: datetime | None
    is_rest: bool = False
    is_archive: bool = False
    is_unused: bool = False

    @property
    def conversations(self) -> list[Conversation]:
        return [conversation for section in self.sections for conversation in section.conversations]

    @property
    def stamp(self) -> str:
        """A digest of all that the list shows: equal lists have equal stamps."""
        shown = [(row.pk.hex, row.title, heading, getattr(row, "activity", "")) for heading, row in self._headed()]
        return sha256(repr(shown).encode()).hexdigest()[:16]

    def _headed(self) -> Iterator[tuple[str, Conversation]]:
        return ((section.heading, row) for section in self.sections for row in section.conversations)


def sidebar(
    user: AbstractBaseUser,
    *,
    before: datetime | None = None,
    current: Conversation | None = None,
    archived: bool = False,
) -> Sidebar:
    """Pinned conversations first, then by the day of the last change; `current` is always included.

    One query; two if the list is empty.
    """
    own = own_conversations(user)
    mine = own.filter(archived=archived).only("id", "title", "kind", "pinned", "archived", "updated_at", "seen_at")
    mine = mine.annotate(**_last_reply())
    mine = mine.filter(pinned=False, updated_at__lt=before) if before else mine
    rows = list(mine.order_by("-pinned", "-updated_at", "-id")[: LIMIT + 1])
    shown = rows[:LIMIT]
    earlier = shown[-1].updated_at if rows[LIMIT:] else None
    if rows[LIMIT:] and rows[LIMIT].updated_at == earlier:
        # Imported conversations may share a date, and the next part of the list begins before this date.
        shown += mine.filter(pinned=False, updated_at=earlier).exclude(pk__in=[row.pk for row in shown])
    if current and current not in shown:
        shown.append(current)
    for row in shown:
        state = activity_of(row)
        row.activity = "" if row == current and state == UNREAD else state  # type: ignore[attr-defined]
    return Sidebar(
        _sections(shown, timezone.localdate()),
        earlier,
        is_rest=before is not None,
        is_archive=archived,
        is_unused=not shown and not Conversation.objects.filter(owner_id=user.pk, kind__in=CHATS).exists(),
    )


def activity_of(row: Conversation) -> str:
    """The state of a listed conversation: WRITING, UNREAD (its last reply ended after it was seen), or ""."""
    status, began = getattr(row, "reply_status", None), getattr(row, "reply_began", None)
    if status == Message.Status.STREAMING:
        return WRITING
    if began is None:
        return ""
    ended = began + timedelta(milliseconds=getattr(row, "reply_ms", None) or 0)
    return UNREAD if row.seen_at and ended > row.seen_at else ""


def _last_reply() -> dict[str, Subquery]:
    """The columns of each conversation's last reply, found by the index of its messages."""
    replies = Message.objects.filter(conversation=OuterRef("pk"), role=Message.Role.ASSISTANT, replaced_by=None)
    last = replies.order_by("-created_at")
    names = {"reply_status": "status", "reply_began": "created_at", "reply_ms": "duration_ms"}
    return {name: Subquery(last.values(column)[:1]) for name, column in names.items()}


def used_last(user: AbstractBaseUser, listed: Sidebar) -> list[Conversation]:
    """The RECENT conversations used last, pinned or not, without the archive.

    One query if `listed` is the archive or a later part of the list, which do not contain them.
    """
    if not listed.is_archive and not listed.is_rest:
        return sorted(listed.conversations, key=lambda conversation: conversation.updated_at, reverse=True)[:RECENT]
    mine = own_conversations(user).filter(archived=False).only("id", "title", "kind", "updated_at")
    return list(mine.order_by("-updated_at", "-id")[:RECENT])


def _sections(conversations: Iterable[Conversation], today: date) -> tuple[Section, ...]:
    def heading(conversation: Conversation) -> str:
        if conversation.archived:
            return "Archived"
        if conversation.pinned:
            return "Pinned"
        days = (today - timezone.localdate(conversation.updated_at)).days
        return next((words for age, words in AGES if days <= age), "Earlier")

    return tuple(Section(words, tuple(rows)) for words, rows in groupby(conversations, heading))
