from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from compression.ids import uuid7

MAX_GOAL_CHARS = 2_000


class Goal(models.Model):
    """A conversation's goal and its progress. It is part of the system prompt, so it is never compacted.

    The progress has the form of `compression.core.goal.as_json`: `checkpoints` [{text, status, completed_at}],
    `decisions` [{text, rationale, locked}], `artifacts` [{path, action}].
    """

    class Priority(models.TextChoices):
        LOW = "low", _("Low")
        NORMAL = "normal", _("Normal")
        HIGH = "high", _("High")

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        COMPLETED = "completed", _("Completed")
        DROPPED = "dropped", _("Dropped")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="goals")
    description = models.TextField(max_length=MAX_GOAL_CHARS)
    priority = models.CharField(max_length=16, choices=Priority, default=Priority.NORMAL)
    status = models.CharField(max_length=16, choices=Status, default=Status.ACTIVE)
    checkpoints = models.JSONField(default=list, blank=True)
    decisions = models.JSONField(default=list, blank=True)
    artifacts = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"], name="one_active_goal", condition=models.Q(status="active")
            )
        ]

    def __str__(self) -> str:
        return self.description[:60]
