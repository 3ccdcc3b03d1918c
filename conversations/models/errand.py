from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class Errand(models.Model):
    """A request that the site itself sent to a model for a person, such as for a title. Holds figures, no text."""

    class Purpose(models.TextChoices):
        TITLE = "title", "Title"
        READING = "reading", "Reading of a file"
        SHADOW = "shadow", "Comparison with the whole history"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    purpose = models.CharField(max_length=16, choices=Purpose, default=Purpose.TITLE)
    model = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="errand_by_owner")]

    def __str__(self) -> str:
        return f"{self.purpose}, {self.model}"
