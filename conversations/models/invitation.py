from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7


def in_a_week() -> datetime:
    return timezone.now() + Invitation.LASTS


class Invitation(models.Model):
    """A link by which one person makes an account. Only the SHA-256 of its token is kept."""

    LASTS: ClassVar = timedelta(days=7)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    note = models.CharField("For", max_length=200, help_text="The person's name, for the list of invitations.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", editable=False, verbose_name="Made by"
    )
    # Null: not used yet, or by somebody whose account was deleted since.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", editable=False
    )
    used_at = models.DateTimeField("Used", null=True, editable=False)
    ends_at = models.DateTimeField("Valid until", default=in_a_week)
    created_at = models.DateTimeField("Made", default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.note
