from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from compression.ids import uuid7


class AgentRun(models.Model):
    """One task that a conversation's planner handed to an executor.

    Their messages form the conversation `thread`, of kind executor: it is compacted like any other, by the same code,
    and deleted with the conversation that it belongs to. A turn is a message of the planner with the executor's
    answer. A `waiting` run has given a partial result.
    """

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        WAITING = "waiting", "Waiting"
        DONE = "done", "Done"
        STOPPED = "stopped", "Stopped"
        FAILED = "failed", "Failed"

    OPEN = (Status.RUNNING, Status.WAITING)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="agent_runs")
    thread = models.OneToOneField("Conversation", on_delete=models.CASCADE, related_name="run_of")
    task = models.TextField()
    status = models.CharField(max_length=16, choices=Status, default=Status.RUNNING)
    turns = models.PositiveSmallIntegerField(default=1)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"], name="one_open_run", condition=Q(status__in=["running", "waiting"])
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_status_display()}: {self.task[:60]}"

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN


class AgentStep(models.Model):
    """One message of a run's thread, with its role in the exchange between planner and executor.

    `call` is the planner's tool call that sent the message; null for the executor's messages.
    """

    class Kind(models.TextChoices):
        ASSIGNMENT = "assignment", "task assignment"
        CLARIFICATION = "clarification", "Clarification"
        TOOLS = "tools", "tool calls"
        PARTIAL = "partial_result", "partial result"
        RESULT = "result", "Result"

    BY_PLANNER = (Kind.ASSIGNMENT, Kind.CLARIFICATION)

    run = models.ForeignKey(AgentRun, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=16, choices=Kind)
    message = models.OneToOneField("Message", on_delete=models.CASCADE, related_name="step")
    call = models.ForeignKey("ToolCall", on_delete=models.SET_NULL, null=True, blank=True, related_name="steps")

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="step_number")]

    def __str__(self) -> str:
        return f"{self.number}. {self.get_kind_display()}"

    @property
    def who(self) -> str:
        """The writer of the step's message."""
        return "Planner" if self.kind in self.BY_PLANNER else "Executor"
