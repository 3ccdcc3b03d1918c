"""Projects: folders of conversations with instructions, a colour and a first model, of one person or shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import Http404
from django.utils.translation import gettext as _

from conversations.access import CHATS, IN_PROJECT, takes_part
from conversations.errors import Invalid
from conversations.models import Conversation, ModelProfile, Project, ProjectMember
from conversations.models.project import MAX_INSTRUCTIONS_CHARS, MAX_PROJECT_NAME_CHARS
from conversations.validation import clean_text, one_line

MAX_PROJECTS = 200
"""The most projects of a person: every page lists them."""


class Changes(TypedDict, total=False):
    """The fields of a project that its owner may change."""

    name: str
    colour: str
    instructions: str
    model: ModelProfile | None
    recalls: bool


def clean_name(name: object) -> str:
    """The name on one line. Raises Invalid."""
    return one_line(clean_text("name", name, limit=MAX_PROJECT_NAME_CHARS))


def clean_colour(colour: object) -> str:
    """The colour, unchanged. Raises Invalid, naming the colours."""
    if colour not in Project.Colour.values:
        raise Invalid(f"colour: must be one of {', '.join(Project.Colour.values)}.", field="colour")
    return str(colour)


def clean_instructions(text: object) -> str:
    """The instructions; "" for none. Raises Invalid."""
    return clean_text("instructions", text, limit=MAX_INSTRUCTIONS_CHARS, allow_blank=True)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": clean_name,
    "colour": clean_colour,
    "instructions": clean_instructions,
}


IN_IT = Q(conversations__trashed_at=None) & ~Q(conversations__kind=Conversation.Kind.FILE)
"""Matches the conversations of a project: neither its files nor those in the trash."""


OWNER, WRITER, READER = "owner", ProjectMember.Role.WRITER.value, ProjectMember.Role.READER.value
MAY_WRITE = (OWNER, WRITER)
MAY_READ = (OWNER, WRITER, READER)
"""The roles that may have chats in a project, and those that may read its chats."""


def own_projects(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Project]:
    """The person's projects by name."""
    return Project.objects.filter(owner_id=user.pk)


def projects_for(user: AbstractBaseUser | AnonymousUser, roles: Sequence[str] = MAY_READ) -> QuerySet[Project]:
    """The projects in which the person has one of these roles, by name, each with this `role`."""
    place = ProjectMember.objects.filter(project=OuterRef("pk"), user=user.pk or 0, role__in=roles)
    own, role = Q(owner_id=user.pk), Subquery(place.values("role")[:1], output_field=CharField())
    which = own | Q(Exists(place)) if settings.SHARED_PROJECTS else own
    return Project.objects.filter(which).annotate(role=Case(When(own, then=Value(OWNER)), default=role))


def may_write(user_id: int, project: Project) -> bool:
    """Whether a person may have chats in a project: its owner, and its writers; at most one query."""
    if project.owner_id == user_id:
        return True
    writers = ProjectMember.objects.filter(project=project, user=user_id, role=WRITER)
    return bool(settings.SHARED_PROJECTS) and writers.exists()


def conversations_for(user: AbstractBaseUser | AnonymousUser, project: Project) -> QuerySet[Conversation]:
    """The chats of a project that the person may read: their own, and those of others that share its memory."""
    rows = Conversation.objects.filter(project=project, kind__in=CHATS, trashed_at=None)
    return rows.filter(Q(owner_id=user.pk) | Q(takes_part(), shares_memory=True))


def readable_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> Conversation:
    """A chat, or a file of a project, that the person may read: their own, or one in a project shared with them.

    Raises Http404.
    """
    rows = Conversation.objects.filter(kind__in=IN_PROJECT, trashed_at=None).select_related("model", "project", "owner")
    shared = Q(takes_part(), shares_memory=True, project__in=projects_for(user).values("pk"))
    found = rows.filter(Q(owner_id=user.pk) | shared, pk=pk).first()
    if found is None:
        raise Http404("No such conversation.")
    return found


def counted(projects: QuerySet[Project]) -> QuerySet[Project]:
    """The projects with `conversation_count`, the number of their conversations without those in the trash."""
    return projects.annotate(conversation_count=Count("conversations", IN_IT))


def get_project(user: AbstractBaseUser | AnonymousUser, pk: UUID, roles: Sequence[str] = (OWNER,)) -> Project:
    """The project, with its model, its `conversation_count` and the person's `role`, which is one of `roles`.

    Raises Http404 if it is missing, or if the person has none of these roles in it.
    """
    try:
        return counted(projects_for(user, roles)).select_related("model", "owner").get(pk=pk)
    except Project.DoesNotExist:
        raise Http404("No such project.") from None


def create(user: AbstractBaseUser | AnonymousUser, **fields: Unpack[Changes]) -> Project:
    """Store a new project. Raises Invalid, naming the field, also where the person has MAX_PROJECTS already."""
    cleaned = _cleaned(fields)
    with transaction.atomic():
        if own_projects(user).count() >= MAX_PROJECTS:
            raise Invalid(
                _("projects: at most %(most)s are kept. Delete one first.") % {"most": MAX_PROJECTS},
                field="projects",
                limit=MAX_PROJECTS,
            )
        project = Project(**cleaned)
        project.owner_id = user.pk  # type: ignore[assignment]
        project.save()
        return project


def change(project: Project, **changes: Unpack[Changes]) -> None:
    """Put these fields in force, all of them or none. Raises Invalid, naming the field."""
    fields = _cleaned(changes)
    for name, value in fields.items():
        setattr(project, name, value)
    if fields:
        project.save(update_fields=fields)


def delete(project: Project) -> None:
    """Delete the project and its files. Its conversations stay, without a project."""
    with transaction.atomic():
        list(Project.objects.select_for_update().filter(pk=project.pk).values_list("pk"))  # no file comes in meanwhile
        project.conversations.filter(kind=Conversation.Kind.FILE).delete()
        project.delete()


def _cleaned(changes: Changes) -> dict[str, Any]:
    return {name: CHECKS[name](value) if name in CHECKS else value for name, value in changes.items()}
