from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class GatewayCall(models.Model):
    """The figures of one call of the gateway: its tokens, cost and duration; no text of the messages.

    `tokens_before` is the size of the caller's request, `tokens_after` that of the forwarded one, as the model counts
    them. `status` is the HTTP status of the response, `error` its error code ("": none). `conversation` is the one
    whose summary was used.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.ForeignKey("ApiKey", on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    conversation = models.ForeignKey(
        "Conversation", on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    model = models.CharField(max_length=200, blank=True)
    is_stream = models.BooleanField(default=False)
    status = models.PositiveSmallIntegerField(default=200)
    error = models.CharField(max_length=64, blank=True)
    tokens_before = models.PositiveIntegerField(default=0)
    tokens_after = models.PositiveIntegerField(default=0)
    is_hit = models.BooleanField(default=False)
    is_compacted = models.BooleanField(default=False)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    first_token_ms = models.PositiveIntegerField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="gateway_call_by_owner")]

    def __str__(self) -> str:
        return f"{self.model}, {self.status}"

    @property
    def saved_tokens(self) -> int:
        return max(0, self.tokens_before - self.tokens_after)


class Folding(models.Model):
    """The lock of a running compaction of a person's histories that begin with `digest`; equal requests wait for it.

    The row exists while the compaction runs; after `expires_at` another worker may take it over.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)
    token = models.UUIDField(default=uuid7)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "digest"], name="one_folding")]

    def __str__(self) -> str:
        return self.digest
