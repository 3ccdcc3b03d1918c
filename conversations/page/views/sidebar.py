"""The sidebar of every page: a person's conversations by date of their last change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from conversations.access import CHATS, own_conversations
from conversations.models import Conversation

LIMIT = 60
"""The most conversations of one part of the list."""
RECENT = 5
"""The number of conversations that the home page lists as used last."""
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
    mine = own.filter(archived=archived).only("id", "title", "kind", "pinned", "archived", "updated_at")
    mine = mine.filter(pinned=False, updated_at__lt=before) if before else mine
    rows = list(mine.order_by("-pinned", "-updated_at", "-id")[: LIMIT + 1])
    shown = rows[:LIMIT]
    earlier = shown[-1].updated_at if rows[LIMIT:] else None
    if rows[LIMIT:] and rows[LIMIT].updated_at == earlier:
        # Imported conversations may share a date, and the next part of the list begins before this date.
        shown += mine.filter(pinned=False, updated_at=earlier).exclude(pk__in=[row.pk for row in shown])
    if current and current not in shown:
        shown.append(current)
    return Sidebar(
        _sections(shown, timezone.localdate()),
        earlier,
        is_rest=before is not None,
        is_archive=archived,
        is_unused=not shown and not Conversation.objects.filter(owner_id=user.pk, kind__in=CHATS).exists(),
    )


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
