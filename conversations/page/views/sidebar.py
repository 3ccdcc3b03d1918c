"""The sidebar of every page: a person's projects, then their other conversations by date of their last change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256
from itertools import groupby
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.access import CHATS, own_conversations
from conversations.models import Conversation, Message, Project
from conversations.projects import projects_for

IN_PROJECTS = 60
"""The conversations in projects that are read: those used last, of all projects together."""
IN_A_PROJECT = 4
"""The most conversations that are listed below a project."""
COLUMNS = ("id", "title", "kind", "pinned", "archived", "updated_at", "seen_at", "project_id", "shares_memory")
LIMIT = 60
"""The most conversations of one part of the list."""
RECENT = 5
"""The number of conversations that the home page lists as used last."""
WRITING, UNREAD = "writing", "unread"
AGES = (
    (0, gettext_noop("Today")),
    (1, gettext_noop("Yesterday")),
    (7, gettext_noop("Last 7 days")),
    (30, gettext_noop("Last 30 days")),
)


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """A project and the conversations that were used last in it."""

    project: Project
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True)
class Sidebar:
    """A part of the list.

    `folders`: the projects, which the first part begins with. `earlier`: the `before` of the next part (None: there is
    none). `is_rest`: this is not the first part. `is_archive`: it lists archived conversations. `is_unused`: the person
    has no conversation, not even an archived one or one in the trash.
    """

    sections: tuple[Section, ...]
    earlier: datetime | None
    is_rest: bool = False
    is_archive: bool = False
    is_unused: bool = False
    folders: tuple[Folder, ...] = ()

    @property
    def conversations(self) -> list[Conversation]:
        parts: tuple[Folder | Section, ...] = (*self.folders, *self.sections)
        return [row for part in parts for row in part.conversations]

    @property
    def stamp(self) -> str:
        """A digest of all that the list shows: equal lists have equal stamps."""
        shown = [(row.pk.hex, row.title, heading, getattr(row, "activity", "")) for heading, row in self._headed()]
        projects = [(folder.project.pk.hex, folder.project.name, folder.project.colour) for folder in self.folders]
        return sha256(repr((projects, shown)).encode()).hexdigest()[:16]

    def _headed(self) -> Iterator[tuple[str, Conversation]]:
        for folder in self.folders:
            yield from ((folder.project.name, row) for row in folder.conversations)
        for section in self.sections:
            yield from ((section.heading, row) for row in section.conversations)


def sidebar(
    user: AbstractBaseUser,
    *,
    before: datetime | None = None,
    current: Conversation | None = None,
    archived: bool = False,
) -> Sidebar:
    """Projects, then pinned conversations, then by the day of the last change; `current` is always included.

    Two queries; one more if the person has projects, and one more if nothing is listed. The archive and later parts of
    the list have no projects of their own.
    """
    is_first = before is None and not archived
    mine = own_conversations(user).filter(archived=archived).only(*COLUMNS).annotate(**_last_reply())
    folders = _folders(user, mine, current) if is_first else ()
    if not archived:
        mine = mine.filter(project=None)
    mine = mine.filter(pinned=False, updated_at__lt=before) if before else mine
    rows = list(mine.order_by("-pinned", "-updated_at", "-id")[: LIMIT + 1])
    shown = rows[:LIMIT]
    earlier = shown[-1].updated_at if rows[LIMIT:] else None
    if rows[LIMIT:] and rows[LIMIT].updated_at == earlier:
        # Imported conversations may share a date, and the next part of the list begins before this date.
        shown += mine.filter(pinned=False, updated_at=earlier).exclude(pk__in=[row.pk for row in shown])
    if current and current not in shown and not (is_first and current.project_id):
        shown.append(current)
    for row in (*shown, *(row for folder in folders for row in folder.conversations)):
        state = activity_of(row)
        row.activity = "" if row == current and state == UNREAD else state  # type: ignore[attr-defined]
    is_empty = not shown and not folders
    return Sidebar(
        _sections(shown, timezone.localdate()),
        earlier,
        is_rest=before is not None,
        is_archive=archived,
        folders=folders,
        is_unused=is_empty and not Conversation.objects.filter(owner_id=user.pk, kind__in=CHATS).exists(),
    )


def _folders(user: AbstractBaseUser, mine: QuerySet[Conversation], current: Conversation | None) -> tuple[Folder, ...]:
    """The person's projects by name, each with the conversations that were used last in it, and with `current`."""
    projects = list(projects_for(user).only("id", "name", "colour"))
    if not projects:
        return ()
    inside: dict[UUID | None, list[Conversation]] = {}
    for row in mine.filter(project__isnull=False).order_by("-pinned", "-updated_at", "-id")[:IN_PROJECTS]:
        inside.setdefault(row.project_id, []).append(row)
    listed = {project: rows[:IN_A_PROJECT] for project, rows in inside.items()}
    if current and current.project_id and current not in listed.setdefault(current.project_id, []):
        listed[current.project_id].append(current)
    return tuple(Folder(project, tuple(listed.get(project.pk, ()))) for project in projects)


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
            return _("Archived")
        if conversation.pinned:
            return _("Pinned")
        days = (today - timezone.localdate(conversation.updated_at)).days
        return next((_(words) for age, words in AGES if days <= age), _("Earlier"))

    return tuple(Section(words, tuple(rows)) for words, rows in groupby(conversations, heading))
