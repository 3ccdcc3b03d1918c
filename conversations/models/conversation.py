from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7
from conversations.validation import visible

MAX_TITLE = 200
MAX_SYSTEM_PROMPT = 50_000


class Conversation(models.Model):
    """A conversation and its live state of compression: what is injected, and where history is cut.

    `rules` are texts that the person wants obeyed, `goal_text` renders the active goal: both are part of the system
    prompt. `elided` are messages whose tool results are left out of requests, by id, with what each costs so.
    """

    class Kind(models.TextChoices):
        CHAT = "chat"
        AGENT = "agent"
        GATEWAY = "gateway"
        EXECUTOR = "executor"

    class Mode(models.TextChoices):
        ASSISTANT = "assistant"
        DEVELOPER = "developer"
        PLANNING = "planning"
        DEBUGGER = "debugger"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations", db_index=False
    )
    title = models.CharField(max_length=MAX_TITLE, blank=True)
    # Without an index: it would be written with every turn, and read only when a profile is deleted.
    model = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=16, choices=Mode, default=Mode.ASSISTANT)
    system_prompt = models.TextField(blank=True, max_length=MAX_SYSTEM_PROMPT)
    policy = models.JSONField(default=dict, blank=True)
    rules = models.JSONField(default=list, blank=True)
    goal_text = models.TextField(blank=True, editable=False)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.CHAT)
    # Of an executor's: the agent's conversation that it works for, and goes with.
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, editable=False, related_name="threads", db_index=False
    )
    uses_tools = models.BooleanField(default=True)
    pinned = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    compressed_context = models.TextField(null=True, editable=False)  # noqa: DJ001 - null says never compressed
    compressed_tokens = models.PositiveIntegerField(default=0, editable=False)
    compressed_at = models.DateTimeField(null=True, editable=False)
    verbatim_ids = models.JSONField(default=list, editable=False)
    elided = models.JSONField(default=dict, editable=False)
    compression_version = models.PositiveIntegerField(default=0, editable=False)
    # The `compression_version` at which its owner said that folding can wait.
    postponed_at_version = models.PositiveIntegerField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="compressed_together",
                condition=models.Q(compressed_context__isnull=True, compressed_at__isnull=True)
                | models.Q(compressed_context__isnull=False, compressed_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-updated_at", "-id"], name="conversation_by_owner"),
            models.Index(fields=["parent"], name="conversation_by_parent", condition=models.Q(parent__isnull=False)),
        ]

    def __str__(self) -> str:
        return visible(self.title) or ("New agent" if self.kind == self.Kind.AGENT else "New chat")

    @property
    def is_compressed(self) -> bool:
        return self.compressed_at is not None
