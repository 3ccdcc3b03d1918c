"""Rows of the engine: one per run, one per summary, one per state to go back to."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from compression.ids import uuid7


class Compaction(models.Model):
    """One run of the pipeline. The row is at once its lock, its log, its progress and its audit.

    `parts` are the passages to summarise. `eta_ms` is what was left at `advanced_at`, null where nobody knows;
    `started_at` is when its worker took it up. `answers` are the keys of the kept summaries that it was made of.
    """

    class Trigger(models.TextChoices):
        AUTO = "auto"
        AHEAD = "ahead"
        MANUAL = "manual"
        API = "api"
        EMERGENCY = "emergency"

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        READY = "ready"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        SKIPPED = "skipped"
        DISCARDED = "discarded"
        CANCELLED = "cancelled"
        UNDONE = "undone"

    class Flow(models.TextChoices):
        CHAT = "chat"
        PLANNER = "planner"
        EXECUTOR = "executor"

    ACTIVE = (Status.PENDING, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.CASCADE, related_name="compactions", db_index=False
    )
    flow = models.CharField(max_length=16, choices=Flow, default=Flow.CHAT)
    trigger = models.CharField(max_length=16, choices=Trigger)
    status = models.CharField(max_length=16, choices=Status, default=Status.PENDING)
    stage = models.CharField(max_length=32, blank=True)
    percent = models.PositiveSmallIntegerField(default=0)
    parts = models.PositiveSmallIntegerField(default=0)
    parts_done = models.PositiveSmallIntegerField(default=0)
    eta_ms = models.PositiveIntegerField(null=True, editable=False)
    advanced_at = models.DateTimeField(null=True, editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    strategy = models.CharField(max_length=16, blank=True)
    summariser = models.CharField(max_length=200, blank=True)
    level = models.PositiveSmallIntegerField(null=True)
    steering = models.JSONField(default=dict, blank=True)
    first_message = models.UUIDField(null=True)
    last_message = models.UUIDField(null=True)
    messages_condensed = models.PositiveIntegerField(default=0)
    pre_tokens = models.PositiveIntegerField(null=True)
    post_tokens = models.PositiveIntegerField(null=True)
    reduction_percent = models.FloatField(null=True)
    facts_found = models.PositiveIntegerField(default=0)
    facts_kept = models.PositiveIntegerField(default=0)
    facts_repaired = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(null=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    summary_preview = models.CharField(max_length=100, blank=True)
    steps = models.JSONField(default=list, blank=True)
    prepared = models.JSONField(null=True, editable=False)
    answers = models.JSONField(default=list, blank=True, editable=False)
    error = models.TextField(blank=True)
    lease_token = models.UUIDField(default=uuid7, editable=False)
    lease_expires_at = models.DateTimeField(default=timezone.now, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"], name="one_active_compaction", condition=Q(status__in=["pending", "running"])
            ),
            models.UniqueConstraint(fields=["conversation"], name="one_ready_compaction", condition=Q(status="ready")),
        ]
        indexes = [
            models.Index(fields=["conversation", "-created_at"], name="compaction_by_conversation"),
            models.Index(fields=["-created_at"], name="compaction_by_date"),
        ]

    def __str__(self) -> str:
        return f"{self.trigger} compaction, {self.status}"

    @property
    def is_active(self) -> bool:
        return self.status in self.ACTIVE

    @property
    def instructions(self) -> str:
        return str(self.steering.get("instructions", ""))

    def is_abandoned(self, now: datetime) -> bool:
        """Whoever held the lease has stopped renewing it."""
        return self.is_active and self.lease_expires_at < now


class Checkpoint(models.Model):
    """One summary of a run of messages. Never updated but for `active`: what changes a summary is a new row.

    `birth_tokens` is what the summary took at age 0 (0: what it takes now). `stragglers` are the ids of messages from
    before its run that it covers too.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.CASCADE, related_name="checkpoints", db_index=False
    )
    compaction = models.ForeignKey(Compaction, on_delete=models.CASCADE, related_name="checkpoints")
    number = models.PositiveIntegerField()
    level = models.PositiveSmallIntegerField()
    age = models.PositiveSmallIntegerField(default=0)
    summary = models.TextField()
    token_count = models.PositiveIntegerField()
    birth_tokens = models.PositiveIntegerField(default=0)
    original_tokens = models.PositiveIntegerField()
    first_message = models.UUIDField()
    last_message = models.UUIDField()
    last_message_at = models.DateTimeField()
    model = models.CharField(max_length=200, blank=True)
    provisional = models.BooleanField(default=False)
    stragglers = models.JSONField(default=list, blank=True)
    digest = models.CharField(max_length=64)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["last_message_at", "number"]
        constraints = [models.UniqueConstraint(fields=["conversation", "number"], name="checkpoint_number")]
        indexes = [models.Index(fields=["digest"], name="checkpoint_by_digest")]

    def __str__(self) -> str:
        return f"checkpoint {self.number}"


class Snapshot(models.Model):
    """A state of compression to go back to, exactly. Never sent to a model.

    `goal` is the progress of the goal that was active: {id, checkpoints, decisions, artifacts}; null where none was.
    """

    class Purpose(models.TextChoices):
        ROLLBACK = "rollback"
        RECOVERY = "recovery"
        EMERGENCY = "emergency"
        MANUAL = "manual"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.CASCADE, related_name="snapshots", db_index=False
    )
    compaction = models.ForeignKey(
        Compaction, on_delete=models.CASCADE, null=True, blank=True, related_name="snapshots"
    )
    purpose = models.CharField(max_length=16, choices=Purpose)
    compressed_context = models.TextField(null=True)  # noqa: DJ001 - null as on the conversation
    compressed_tokens = models.PositiveIntegerField(default=0)
    compressed_at = models.DateTimeField(null=True)
    verbatim_ids = models.JSONField(default=list)
    elided = models.JSONField(default=dict)
    goal = models.JSONField(null=True)
    checkpoint_ids = models.JSONField(default=list)
    compaction_ids = models.JSONField(default=list)
    digest = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["conversation", "-created_at"], name="snapshot_by_conversation")]

    def __str__(self) -> str:
        return f"{self.purpose} snapshot"


class PromptTemplate(models.Model):
    """An administrator's wording of the request for a summary, in place of the one that comes with the engine."""

    mode = models.CharField(max_length=16, blank=True, unique=True, help_text="Blank: every mode without its own.")
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["mode"]

    def __str__(self) -> str:
        return f"summary prompt, {self.mode or 'every mode'}"


class KeptSummary(models.Model):
    """What a model answered to a request for a summary: the same request of the same person is not paid twice.

    `key` is a hash of all that was asked, and of whom; `conversation` is the one that it was first asked for.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.CASCADE, null=True, related_name="+"
    )
    key = models.CharField(max_length=64)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="kept_summary_once")]
        indexes = [models.Index(fields=["created_at"], name="kept_summary_by_date")]

    def __str__(self) -> str:
        return self.key
