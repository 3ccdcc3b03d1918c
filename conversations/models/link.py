from __future__ import annotations

import secrets

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from compression.ids import uuid7


def new_token() -> str:
    """22 characters that nobody guesses (128 bits)."""
    return secrets.token_urlsafe(16)


class Link(models.Model):
    """A public, read-only page of a conversation as it was when the link was made, for anyone with its address."""

    class Extent(models.TextChoices):
        ALL = "all", _("All of it")
        ANSWER = "answer", _("The last answer")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.OneToOneField("Conversation", on_delete=models.CASCADE, related_name="link")
    token = models.CharField(max_length=22, unique=True, default=new_token, editable=False)
    extent = models.CharField(max_length=8, choices=Extent, default=Extent.ALL)
    # The times of the first and the last message that it shows.
    since = models.DateTimeField()
    up_to = models.DateTimeField()
    has_files = models.BooleanField(default=False)
    has_thoughts = models.BooleanField(default=False)
    has_name = models.BooleanField(default=True)
    # None: until its owner ends it.
    ends_at = models.DateTimeField(null=True, blank=True)
    opened = models.PositiveIntegerField(default=0, editable=False)
    opened_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"Link to {self.conversation}"
