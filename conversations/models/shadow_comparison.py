from __future__ import annotations

from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class ShadowComparison(models.Model):
    """A reply compared with the model's answer to the same question from the whole history. Holds figures, no text.

    `agreement` is from 0 to 1. `judge` is the model that graded it; "": the share of words in common.
    `compaction` made the newest summary of the reply's request. `full_tokens` are those of the whole history.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    reply = models.OneToOneField("conversations.Message", on_delete=models.CASCADE, related_name="+")
    compaction = models.ForeignKey("compression.Compaction", on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=200)
    judge = models.CharField(max_length=200, blank=True)
    agreement = models.FloatField()
    sent_tokens = models.PositiveIntegerField()
    full_tokens = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.model}: {self.agreement:.2f}"
