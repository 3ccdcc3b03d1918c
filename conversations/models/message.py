from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from compression.ids import uuid7


class Message(models.Model):
    """One message. A row is never changed by a compaction; a replaced one stays, but leaves the history.

    One that was stored in place of another is `version` of so many `versions` of what was said there first, the message
    `place`; these three are null where nothing was.
    """

    class Role(models.TextChoices):
        SYSTEM = "system"
        USER = "user"
        ASSISTANT = "assistant"
        TOOL = "tool"

    class Status(models.TextChoices):
        COMPLETE = "complete"
        STREAMING = "streaming"
        STOPPED = "stopped"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    class FinishReason(models.TextChoices):
        """Why a reply ended before it was whole; "" for one that ended by itself, or of which nothing is known."""

        LENGTH = "length", "cut off at the most tokens it could have"
        CONTENT_FILTER = "content_filter", "stopped by the provider's content filter"
        ABORTED = "aborted", "broken off by the provider"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # The unique constraint below starts with the conversation: an index of the key alone would only be written.
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="messages", db_index=False)
    role = models.CharField(max_length=16, choices=Role)
    name = models.CharField(max_length=100, blank=True)
    content = models.TextField(blank=True)
    # Of its images [{id, hash, name}], so that a turn need not look for attachments; null where there are none.
    images = models.JSONField(null=True, blank=True, editable=False)
    # Which of its words nobody typed here (`conversations.provenance`); null: all of them were.
    origin = models.JSONField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField()
    token_count = models.PositiveIntegerField(default=0)
    is_protected = models.BooleanField(default=False)
    status = models.CharField(max_length=16, choices=Status, default=Status.COMPLETE)
    replaced_by = models.ForeignKey(
        # Without index and constraint: checking it would read the whole table for every message that is deleted.
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    # Of the id alone, and without an index: versions are looked for between the first one's date and this one's.
    place = models.UUIDField(null=True, blank=True, editable=False)
    version = models.PositiveIntegerField(null=True, blank=True, editable=False)
    versions = models.PositiveIntegerField(null=True, blank=True, editable=False)
    client_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - null is outside the constraint
    model = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    # As its provider told it; who stopped a reply here is in its status.
    finish_reason = models.CharField(max_length=16, choices=FinishReason, blank=True, default="", db_default="")
    # Of a reply that was asked for here: what was sent for it (`conversations.records`), and how that went.
    # `saved_tokens` are those of the history that a summary stood for, less the summary's.
    request = models.JSONField(null=True, blank=True, editable=False)
    saved_tokens = models.PositiveIntegerField(null=True, blank=True, editable=False)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, editable=False)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True, editable=False)
    duration_ms = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # Of a reply in the making: whose it is to write, until when, and since when it is asked to stop.
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_expires_at = models.DateTimeField(null=True, blank=True, editable=False)
    stopping_at = models.DateTimeField(null=True, blank=True, editable=False)
    # How often it was begun anew, where tools had been called for it.
    takeovers = models.PositiveSmallIntegerField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "created_at"], name="message_order"),
            models.UniqueConstraint(
                fields=["conversation", "client_id"], name="message_client_id", condition=Q(client_id__isnull=False)
            ),
            models.UniqueConstraint(
                fields=["conversation"], name="one_reply_at_a_time", condition=Q(status="streaming")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:60]}"

    @property
    def is_streaming(self) -> bool:
        return self.status == self.Status.STREAMING

    @property
    def is_failed(self) -> bool:
        return self.status == self.Status.FAILED

    @property
    def in_its_place(self) -> dict[str, Any]:
        """The columns of what is stored in place of this message: one version more, if this one says anything."""
        is_said = bool(self.content or self.images) or self.tool_calls.exists()
        number = (self.versions or 1) + is_said
        return {"place": self.place or self.pk, "version": number, "versions": number}


class ToolCall(models.Model):
    """A call that an assistant message made; its result is stored whole and cut only towards the model.

    One that was imported is `done`, with whatever result it came with. `error` is told to the model as the result.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    UNFINISHED = (Status.PENDING, Status.RUNNING)

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="tool_calls")
    call_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    arguments = models.TextField(blank=True)
    result = models.TextField(null=True, blank=True)  # noqa: DJ001 - null says that no result was recorded
    created_at = models.DateTimeField()
    token_count = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    status = models.CharField(max_length=8, choices=Status, default=Status.DONE)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["message", "call_id"], name="tool_call_once")]

    def __str__(self) -> str:
        return f"{self.name}({self.arguments[:40]})"

    @property
    def is_unfinished(self) -> bool:
        return self.status in self.UNFINISHED
