from __future__ import annotations

from django.db import models

from compression.ids import uuid7


class QueuedMessage(models.Model):
    """A message that waits until the reply before it is complete, in the order of the ids.

    `content` is its whole text, `shown` the text as the box had it, with `[LongText#1]` in place of pastes. `pastes`
    are [[number, start, length], …] in `content`, `pasted` are texts that were pasted among the words. `error` says why
    it could not be sent; it waits for its owner then, and those behind it too.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="queued")
    client_id = models.CharField(max_length=64, blank=True)
    content = models.TextField()
    shown = models.TextField()
    pastes = models.JSONField(default=list)
    pasted = models.JSONField(default=list)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "client_id"], condition=models.Q(client_id__gt=""), name="queued_once"
            )
        ]

    def __str__(self) -> str:
        return self.shown[:60]
