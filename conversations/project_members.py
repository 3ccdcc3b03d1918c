"""People who share a project: readers, and writers, who have chats of their own in it."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from conversations.errors import Invalid, NotFound
from conversations.memory import message_index
from conversations.models import ApiKey, Conversation, Project, ProjectMember, User
from conversations.projects import WRITER
from conversations.validation import clean_text

MAX_MEMBERS = 50
"""The most people that one project is shared with."""


def require_allowed() -> None:
    """Raise Http404 where the operator has people share no projects."""
    if not settings.SHARED_PROJECTS:
        raise Http404("Projects are not shared here.")


def members_of(project: Project) -> QuerySet[ProjectMember]:
    """The people that the project is shared with, by name."""
    return ProjectMember.objects.filter(project=project).select_related("user").order_by("user__username")


def share(project: Project, username: object, role: object) -> ProjectMember:
    """Share the project with a person of the site, or give them another role. A reader has no chats in it.

    Raises Invalid, naming the field, for a name that nobody has, for the owner's own, for an unknown role, and for one
    person too many; Http404 where projects are not shared.
    """
    require_allowed()
    if role not in ProjectMember.Role.values:
        raise Invalid(f"role: must be one of {', '.join(ProjectMember.Role.values)}.", field="role")
    name = clean_text("username", username, limit=150)
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise Invalid(_("username: nobody here has the name “%(name)s”.") % {"name": name}, field="username")
    if user.pk == project.owner_id:
        raise Invalid(_("username: the project is theirs."), field="username")
    with transaction.atomic():
        if not list(Project.objects.select_for_update().filter(pk=project.pk).values_list("pk")):  # the limit holds
            raise NotFound(_("No such project."))
        others = members_of(project).exclude(user=user)
        if others.count() >= MAX_MEMBERS:
            raise Invalid(
                _("username: a project is shared with at most %(most)s people.") % {"most": MAX_MEMBERS},
                field="username",
                limit=MAX_MEMBERS,
            )
        member = ProjectMember.objects.update_or_create(project=project, user=user, defaults={"role": role})[0]
        if role != WRITER:
            _take_out(project, user.pk)
    return member


def unshare(project: Project, user_id: int) -> None:
    """End a person's part in the project; their chats leave it and stay theirs. Raises NotFound if they have none."""
    with transaction.atomic():
        if not ProjectMember.objects.filter(project=project, user=user_id).delete()[0]:
            raise NotFound(_("The project is not shared with this person."))
        _take_out(project, user_id)


def _take_out(project: Project, user_id: int) -> None:
    theirs = Conversation.objects.filter(project=project, owner=user_id)
    message_index.note(*theirs.values_list("pk", flat=True))
    theirs.update(project=None)
    ApiKey.objects.filter(user=user_id, project=project).update(project=None)
