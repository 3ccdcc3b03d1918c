from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from compression.core.values import Window
from compression.ids import uuid7
from conversations.models.model_profile import DEFAULT_WINDOW, Effort
from conversations.validation import visible

MAX_TITLE_CHARS = 200
MAX_SYSTEM_PROMPT_CHARS = 50_000


class Conversation(models.Model):
    """A conversation with its state of compression: the compressed context, and the cut (`compressed_at`).

    `rules` are the texts of the ledger that are in force, `goal_text` is the rendered active goal; both are part of the
    system prompt. `noted` are those that are only noted, [[when it was said, text], …]: of compacted messages, they are
    part of the system prompt too. `elided` are the messages sent without their tools' results: their tokens without
    them, by id.
    """

    class Kind(models.TextChoices):
        CHAT = "chat", "Chat"
        AGENT = "agent", "Agent"
        GATEWAY = "gateway", "Gateway"
        EXECUTOR = "executor", "Executor"
        FILE = "file", "File of a project"

    class Mode(models.TextChoices):
        ASSISTANT = "assistant", _("General")
        DEVELOPER = "developer", _("Coding")
        PLANNING = "planning", _("Planning")
        DEBUGGER = "debugger", _("Debugging")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations", db_index=False
    )
    title = models.CharField(max_length=MAX_TITLE_CHARS, blank=True)
    # No index: every turn would write to it, and only the deletion of a profile would read it.
    model = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    project = models.ForeignKey(
        "Project", on_delete=models.SET_NULL, null=True, blank=True, related_name="conversations", db_index=False
    )
    # Whether the other conversations of its project get passages of it, and it of them.
    shares_memory = models.BooleanField(default=True, db_default=True)
    mode = models.CharField(max_length=16, choices=Mode, default=Mode.ASSISTANT)
    # How hard its model thinks; "" is as the model's profile says.
    effort = models.CharField(max_length=8, choices=Effort, blank=True, default="", db_default="")
    system_prompt = models.TextField(blank=True, max_length=MAX_SYSTEM_PROMPT_CHARS)
    # Instructions of an imported file: in no request until the owner accepts them.
    proposed_system_prompt = models.TextField(blank=True, default="", db_default="", editable=False)
    # Of a conversation of another site's export: the site's name and its own id, "chatgpt:…".
    imported_from = models.CharField(max_length=220, blank=True, default="", db_default="", editable=False)
    policy = models.JSONField(default=dict, blank=True)
    rules = models.JSONField(default=list, blank=True)
    noted = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()), editable=False)
    goal_text = models.TextField(blank=True, editable=False)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.CHAT)
    # Of an executor's conversation: the agent's conversation that it belongs to and is deleted with.
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, editable=False, related_name="threads", db_index=False
    )
    uses_tools = models.BooleanField(default=True)
    pinned = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    # When the owner put it into the trash. It is in no list and no search then, and cannot be opened.
    trashed_at = models.DateTimeField(null=True, blank=True, editable=False)
    compressed_context = models.TextField(null=True, editable=False)  # noqa: DJ001 - null says never compressed
    compressed_tokens = models.PositiveIntegerField(default=0, editable=False)
    compressed_at = models.DateTimeField(null=True, editable=False)
    verbatim_ids = models.JSONField(default=list, editable=False)
    elided = models.JSONField(default=dict, editable=False)
    compression_version = models.PositiveIntegerField(default=0, editable=False)
    # The `compression_version` at which the owner postponed the next compaction.
    postponed_at_version = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # When the owner undid a compaction. Nothing is compacted by itself until they choose how to go on.
    undone_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_at = models.DateTimeField(null=True, default=timezone.now, editable=False)
    """The time at which the owner last had the conversation before them with all of its replies; None is not known."""

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
            models.Index(
                fields=["project", "-updated_at", "-id"],
                name="conversation_by_project",
                condition=models.Q(project__isnull=False),
            ),
            models.Index(
                fields=["owner", "imported_from"],
                name="conversation_imported",
                condition=models.Q(imported_from__gt=""),
            ),
        ]

    def __str__(self) -> str:
        return visible(self.title) or str(_("New agent") if self.kind == self.Kind.AGENT else _("New chat"))

    @property
    def window(self) -> Window:
        """The window of the conversation's model; a default one without a model."""
        return self.model.usable_window if self.model else DEFAULT_WINDOW

    @property
    def is_compressed(self) -> bool:
        return self.compressed_at is not None
