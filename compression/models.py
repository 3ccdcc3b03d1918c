"""The engine's models: compactions, checkpoints (summaries), snapshots, prompt templates and kept summaries."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.defaults import conversation_model
from compression.ids import uuid7


def next_moment(rows: QuerySet[Any]) -> datetime:
    """The time of the next row: now, but later than that of every row, so that rows stay in their order."""
    last = rows.aggregate(last=Max("created_at"))["last"]
    return max(timezone.now(), last + timedelta(microseconds=1)) if last else timezone.now()


class CompactionManager(models.Manager["Compaction"]):
    """Queries of compactions that need SQL of their own."""

    def active(self) -> models.QuerySet[Compaction]:
        """Pending and running compactions. The statuses are literals, so that SQLite uses their partial index."""
        return self.extra(where=["compression_compaction.status IN ('pending', 'running')"])


class Compaction(models.Model):
    """One compaction of a conversation; its row serves as lock, log, progress and audit record.

    `prompt` is the mode and the digest (`conf.template_digest`) of the template that the summary's model was given; ""
    where no model wrote it.

    `parts` is the number of passages to summarise. `eta_ms` is the time left at `advanced_at` (null: unknown);
    `started_at` is the start of its worker's run. `answers` are the keys of the kept summaries used for it.

    `pre_tokens` and `post_tokens` are what it condensed and what stands in its place, by our own count: runs are
    compared by them. `request_before` and `request_after` are the next request, whole, right before and after it was
    put in force, as the meter counted them; null where it never was, or no model was set. `reduction_percent` is of
    the summary: how much shorter it is than its messages.
    """

    class Trigger(models.TextChoices):
        AUTO = "auto", "Auto"
        AHEAD = "ahead", "Ahead"
        MANUAL = "manual", "Manual"
        API = "api", "Api"
        EMERGENCY = "emergency", "Emergency"

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        RUNNING = "running", "Running"
        READY = "ready", "Ready"
        SUCCEEDED = "succeeded", "Succeeded"
        FAILED = "failed", "Failed"
        SKIPPED = "skipped", "Skipped"
        DISCARDED = "discarded", "Discarded"
        CANCELLED = "cancelled", "Cancelled"
        UNDONE = "undone", "Undone"

    class Flow(models.TextChoices):
        CHAT = "chat", "Chat"
        PLANNER = "planner", "Planner"
        EXECUTOR = "executor", "Executor"

    ACTIVE = (Status.PENDING, Status.RUNNING)
    IN_FORCE = (Status.SUCCEEDED, Status.UNDONE)
    """Now, or at some time."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        conversation_model(), on_delete=models.CASCADE, related_name="compactions", db_index=False
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
    prompt = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    level = models.PositiveSmallIntegerField(null=True)
    steering = models.JSONField(default=dict, blank=True)
    first_message = models.UUIDField(null=True)
    last_message = models.UUIDField(null=True)
    messages_condensed = models.PositiveIntegerField(default=0)
    pre_tokens = models.PositiveIntegerField(null=True)
    post_tokens = models.PositiveIntegerField(null=True)
    request_before = models.PositiveIntegerField(null=True)
    request_after = models.PositiveIntegerField(null=True)
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
    error_code = models.CharField(max_length=32, blank=True, default="", db_default="", editable=False)
    lease_token = models.UUIDField(default=uuid7, editable=False)
    lease_expires_at = models.DateTimeField(default=timezone.now, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    objects = CompactionManager()

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
        return f"{self.get_trigger_display()}: {self.get_status_display()}"

    @property
    def is_active(self) -> bool:
        return self.status in self.ACTIVE

    @property
    def was_in_force(self) -> bool:
        return self.status in self.IN_FORCE

    @property
    def before(self) -> int | None:
        """Tokens of the next request before it, as everybody is shown them; None where it was never in force.

        Where the meter was not noted: what it condensed, by our own count.
        """
        if not self.was_in_force:
            return None
        return self.pre_tokens if self.request_before is None else self.request_before

    @property
    def after(self) -> int | None:
        """The same after it; where the meter was not noted: what stands in the place of what it condensed."""
        if not self.was_in_force:
            return None
        return self.post_tokens if self.request_after is None else self.request_after

    @property
    def request_reduction_percent(self) -> float | None:
        """How much smaller the next request became, in percent; negative where it grew."""
        if not self.before or self.after is None:
            return None
        return round(100 * (1 - self.after / self.before), 1)

    @property
    def instructions(self) -> str:
        return str(self.steering.get("instructions", ""))

    def is_abandoned(self, now: datetime) -> bool:
        """Whether the compaction is active but its worker has stopped renewing the lease."""
        return self.is_active and self.lease_expires_at < now


class Checkpoint(models.Model):
    """One summary of a run of messages. Only `active` is ever updated: a changed summary is a new row.

    `birth_tokens` is the summary's size at age 0 (0: its present size). `stragglers` are the ids of messages from
    before its run that it covers too. `facts` are (kind, text, was kept) of the most important facts of its messages;
    null: not looked for yet. `citations` are the sources of its statements (`core.citation_values.as_json`); null: not
    looked for yet.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        conversation_model(), on_delete=models.CASCADE, related_name="checkpoints", db_index=False
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
    facts = models.JSONField(null=True, editable=False)
    citations = models.JSONField(null=True, editable=False)
    digest = models.CharField(max_length=64)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["last_message_at", "number"]
        constraints = [models.UniqueConstraint(fields=["conversation", "number"], name="checkpoint_number")]
        indexes = [
            models.Index(fields=["digest"], name="checkpoint_by_digest"),
            models.Index(
                fields=["conversation", "original_tokens"], name="active_checkpoint", condition=Q(active=True)
            ),
        ]

    def __str__(self) -> str:
        return _("Checkpoint %(number)s") % {"number": self.number}


class Snapshot(models.Model):
    """A saved state of a conversation's compression that can be restored exactly. Never sent to a model.

    `goal` is the progress of the goal active then: {id, checkpoints, decisions, artifacts}; null: none was.
    """

    class Purpose(models.TextChoices):
        ROLLBACK = "rollback", "Rollback"
        RECOVERY = "recovery", "Recovery"
        EMERGENCY = "emergency", "Emergency"
        MANUAL = "manual", "Manual"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey(
        conversation_model(), on_delete=models.CASCADE, related_name="snapshots", db_index=False
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
        return self.get_purpose_display()


class PromptTemplate(models.Model):
    """An administrator's prompt template for summaries, which replaces the engine's own."""

    mode = models.CharField(
        max_length=16, blank=True, unique=True, help_text="Empty: every mode without a template of its own."
    )
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["mode"]

    def __str__(self) -> str:
        return self.mode or _("every mode without its own")


class KeptSummary(models.Model):
    """A model's answer to a request for a summary, kept so that a person never pays for the same request twice.

    `key` is a hash of the whole request and its model; `conversation` is the one of the first request with this key.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation = models.ForeignKey(conversation_model(), on_delete=models.CASCADE, null=True, related_name="+")
    key = models.CharField(max_length=64)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="kept_summary_once")]
        indexes = [models.Index(fields=["created_at"], name="kept_summary_by_date")]

    def __str__(self) -> str:
        return self.key
