from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone


class HeldResponse(models.Model):
    """A response that the gateway gave, with the items of its request, for a caller that names it in the next one.

    `before` are the ids of the responses that led to it, the first one first. `head` has the fields of the response
    but its output; it is empty for one of an earlier version. Items are JSON in a text: a database's own JSON holds no
    NUL.
    """

    KEPT: ClassVar = timedelta(hours=1)
    """The time after its last use for which a response is held."""

    id = models.UUIDField(primary_key=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    before = models.JSONField(default=list, blank=True)
    # None: the request carried its own history, so that nobody needs it from here.
    input = models.TextField(null=True)  # noqa: DJ001 - "[]" is an input too
    output = models.TextField()
    head = models.TextField(default="", blank=True)
    used_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    def __str__(self) -> str:
        return f"resp_{self.id.hex}"
