from __future__ import annotations

from django.conf import settings
from django.db import models

from compression.ids import uuid7

MAX_NAME_CHARS = 60
MAX_PROMPT_CHARS = 20_000


class SavedPrompt(models.Model):
    """A text that a person keeps to begin messages with; `{{a name}}` in it is a blank to be filled in."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_prompts", db_index=False
    )
    name = models.CharField(max_length=MAX_NAME_CHARS)
    text = models.TextField(max_length=MAX_PROMPT_CHARS)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="prompt_named_once")]

    def __str__(self) -> str:
        return self.name
