from __future__ import annotations

from django.db import models


class Wording(models.Model):
    """A system prompt that requests of a conversation began with: kept once, however many requests did.

    `digest` is the SHA-256 of the text (hex). With it a past request can be put together again exactly.
    """

    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "digest"], name="wording_once")]

    def __str__(self) -> str:
        return self.digest
