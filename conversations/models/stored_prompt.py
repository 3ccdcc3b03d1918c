from __future__ import annotations

from django.db import models


class Wording(models.Model):
    """A system prompt of a conversation's past requests, stored once however many requests used it.

    `digest` is the SHA-256 of the text (hex). It allows a past request to be reconstructed exactly.
    """

    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "digest"], name="wording_once")]

    def __str__(self) -> str:
        return self.digest
