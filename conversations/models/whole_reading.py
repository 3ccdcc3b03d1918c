from __future__ import annotations

from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class WholeReading(models.Model):
    """The reading of a whole file for one question: a model's notes on each part, then an answer from the notes.

    `files` are the ids of the attachments whose texts are the file, in order. A reading that was interrupted goes on
    after its last note.
    """

    class Status(models.TextChoices):
        RUNNING = "running", "Reading"
        STOPPED = "stopped", "Stopped"
        FAILED = "failed", "Failed"
        ANSWERED = "answered", "Answered"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="readings")
    name = models.CharField(max_length=200)
    question = models.TextField()
    files = models.JSONField(default=list)
    part_tokens = models.PositiveIntegerField()
    note_tokens = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    notes = models.JSONField(default=list)
    status = models.CharField(max_length=16, choices=Status, default=Status.RUNNING)
    error = models.TextField(blank=True)
    # Counted up each time that it goes on: a task of an earlier attempt that still runs keeps nothing.
    attempt = models.PositiveIntegerField(default=1)
    # Updated with each note; a running reading that was not updated for long has lost its process.
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name}: {self.question[:60]}"
