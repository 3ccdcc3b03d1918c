from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from compression.history import HistoryQuerySet
from compression.ids import uuid7


class MessageQuerySet(HistoryQuerySet["Message"]):
    """Messages by their place in the history, and by a query that needs SQL of its own."""

    def streaming(self) -> models.QuerySet[Message]:
        """Replies that are being written. The status is a literal, so that SQLite uses their partial index."""
        return self.extra(where=["conversations_message.status = 'streaming'"])


class Message(models.Model):
    """One message of a conversation. A compaction never changes it; a replaced message stays, outside of the history.

    A message that replaced another is number `version` of `versions` messages at the same place; `place` is the id of
    the first of them. The three are null for a message that replaced nothing.
    """

    class Role(models.TextChoices):
        SYSTEM = "system", "System"
        USER = "user", "User"
        ASSISTANT = "assistant", "Assistant"
        TOOL = "tool", "Tool"

    class Status(models.TextChoices):
        COMPLETE = "complete", "Complete"
        STREAMING = "streaming", "Streaming"
        STOPPED = "stopped", "Stopped"
        FAILED = "failed", "Failed"
        INTERRUPTED = "interrupted", "Interrupted"

    class FinishReason(models.TextChoices):
        """The reason why a reply ended early; "" if it ended by itself or its provider gave no reason."""

        LENGTH = "length", _("cut off at its limit of tokens")
        CONTENT_FILTER = "content_filter", _("stopped by the provider's content filter")
        ABORTED = "aborted", _("broken off by the provider")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # No index: the unique constraint below starts with the conversation and serves the same queries.
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="messages", db_index=False)
    role = models.CharField(max_length=16, choices=Role)
    name = models.CharField(max_length=100, blank=True)
    content = models.TextField(blank=True)
    # [{id, hash, name}] of the message's images, so that a turn needs no query for attachments; null: no images.
    images = models.JSONField(null=True, blank=True, editable=False)
    # The parts that nobody typed here (`conversations.context.provenance`); null: the whole message was typed.
    origin = models.JSONField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField()
    token_count = models.PositiveIntegerField(default=0)
    is_protected = models.BooleanField(default=False)
    status = models.CharField(max_length=16, choices=Status, default=Status.COMPLETE)
    replaced_by = models.ForeignKey(
        # No index and no constraint: checking it would read the whole table for every deleted message.
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    # An id without foreign key or index: versions are searched between the dates of the first one and this one.
    place = models.UUIDField(null=True, blank=True, editable=False)
    version = models.PositiveIntegerField(null=True, blank=True, editable=False)
    versions = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # Of a copy of another message: the first one of this conversation that says the same, in a fork itself. A copied
    # reply has the request and the figures of the original, which alone counts as spent.
    copy_of = models.UUIDField(null=True, blank=True, editable=False)
    client_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - null is outside the constraint
    model = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True)
    # What the model thought before a reply: no part of any later request, of summaries, of the search or of its tokens.
    thoughts = models.TextField(blank=True, default="", db_default="", editable=False)
    thought_ms = models.PositiveIntegerField(null=True, blank=True, editable=False)
    thought_tokens = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # The same as its provider wants them back within the turn (`llm.thoughts`), if the reply called tools.
    returned_thoughts = models.JSONField(null=True, blank=True, editable=False)
    error = models.TextField(blank=True)
    # The provider's own words about it, without keys.
    provider_words = models.TextField(blank=True, default="", db_default="", editable=False)
    # Why it failed, as figures count it: an `ErrorCode`.
    error_code = models.CharField(max_length=32, blank=True, default="", db_default="", editable=False)
    # The provider's reason. A reply that was stopped here has the status STOPPED instead.
    finish_reason = models.CharField(max_length=16, choices=FinishReason, blank=True, default="", db_default="")
    # The request that a reply answers (`conversations.requests.request_log`), and its cost and times.
    # `saved_tokens` are the tokens of the history that summaries replaced in the request, less those of the summaries
    # and of the recalled passages: negative if these take more.
    request = models.JSONField(null=True, blank=True, editable=False)
    saved_tokens = models.IntegerField(null=True, blank=True, editable=False)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, editable=False)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True, editable=False)
    duration_ms = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # The lease of a reply that is being written: its worker's token, its expiry, and the time of a request to stop.
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_expires_at = models.DateTimeField(null=True, blank=True, editable=False)
    stopping_at = models.DateTimeField(null=True, blank=True, editable=False)
    # How often another worker took the reply over after tools had been called for it.
    takeovers = models.PositiveSmallIntegerField(null=True, blank=True, editable=False)

    objects = MessageQuerySet.as_manager()

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
    def replacement_columns(self) -> dict[str, Any]:
        """The version columns of a message that replaces this one; an empty message does not count as a version."""
        has_content = bool(self.content or self.images) or self.tool_calls.exists()
        number = (self.versions or 1) + has_content
        return {"place": self.place or self.pk, "version": number, "versions": number}


class ToolCall(models.Model):
    """A tool call of an assistant message. Its result is stored whole; only the copy sent to the model is cut.

    An imported call is `done`, with or without a result. The model receives an `error` as the result.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

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
