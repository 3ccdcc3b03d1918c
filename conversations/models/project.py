from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from compression.ids import uuid7
from conversations.validation import visible

MAX_PROJECT_NAME_CHARS = 100
MAX_INSTRUCTIONS_CHARS = 50_000


class Project(models.Model):
    """A person's folder of conversations, with instructions and a first model that they share."""

    class Colour(models.TextChoices):
        GREY = "grey", _("Grey")
        TEAL = "teal", _("Teal")
        BLUE = "blue", _("Blue")
        VIOLET = "violet", _("Violet")
        AMBER = "amber", _("Amber")
        RED = "red", _("Red")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects", db_index=False
    )
    name = models.CharField(max_length=MAX_PROJECT_NAME_CHARS)
    colour = models.CharField(max_length=8, choices=Colour, default=Colour.GREY)
    instructions = models.TextField(blank=True, default="", max_length=MAX_INSTRUCTIONS_CHARS)
    # Whether each of its conversations gets passages of the others.
    recalls = models.BooleanField(default=True)
    # The model of a new conversation in it; None is the person's usual one.
    model = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name", "id"]
        indexes = [models.Index(fields=["owner", "name"], name="project_by_owner")]

    def __str__(self) -> str:
        return visible(self.name)


class ProjectMember(models.Model):
    """A person that the owner of a project shares it with.

    A reader reads the project's chats and files. A writer also adds files, and has chats of their own in it, which
    share its instructions and its memory.
    """

    class Role(models.TextChoices):
        READER = "reader", _("reads")
        WRITER = "writer", _("reads and writes")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=8, choices=Role, default=Role.READER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_place_in_a_project")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"
