from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from compression.core.ledger.values import Topic
from compression.ids import uuid7

MAX_HISTORY = 20
"""The most changes of state that an entry's history keeps, the newest."""


class LedgerEntry(models.Model):
    """A rule, preference, decision, correction, withdrawal or fact, in its person's words: whole sentences.

    A withdrawal takes the rules about its topic out of force; while it `asks_about` one, its person has not answered.
    An entry that a later one about the same thing replaced has the state superseded, and goes back to `chosen_state`
    without that. An entry whose message left the history (`is_withdrawn`) holds nothing, and returns with its message.
    """

    class Kind(models.TextChoices):
        RULE = "rule", _("Rule")
        PREFERENCE = "preference", _("Preference")
        DECISION = "decision", _("Decision")
        CORRECTION = "correction", _("Correction")
        WITHDRAWAL = "withdrawal", _("Withdrawal")
        FACT = "fact", _("About you")

    class State(models.TextChoices):
        IN_FORCE = "in_force", _("In force")
        NOTED = "noted", _("Noted")
        DISMISSED = "dismissed", _("Dismissed")
        SUPERSEDED = "superseded", _("Superseded")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # No index: those below start with the conversation.
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="ledger", db_index=False)
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.RULE)
    text = models.TextField()
    state = models.CharField(max_length=12, choices=State)
    # The state without supersession: in force, noted or dismissed.
    chosen_state = models.CharField(max_length=12, choices=State)
    is_chosen = models.BooleanField(default=False)  # whether a person chose the state
    superseded_by = models.UUIDField(null=True, blank=True, editable=False)  # the id of a later entry
    # The id of the entry that a withdrawal may mean; null once its person has answered, or where it is sure.
    asks_about = models.UUIDField(null=True, blank=True, editable=False)
    # What it is about (`compression.core.ledger.values.Topic`).
    topic = models.CharField(max_length=32)
    value = models.CharField(max_length=32, blank=True)
    forbids = models.BooleanField(default=False)
    # The id of its message; null for an entry that was added by hand. No foreign key: messages go with conversations.
    message = models.UUIDField(null=True, blank=True, editable=False)
    said_at = models.DateTimeField(default=timezone.now, editable=False)
    # When it got its chosen state: of two about the same thing, the later decision holds.
    decided_at = models.DateTimeField(default=timezone.now, editable=False)
    is_withdrawn = models.BooleanField(default=False)
    # The person whose chats outside of projects all have it.
    kept_for = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    # Whether the person is asked to keep it for all their chats; false once they have answered, null if never asked.
    asks_to_keep = models.BooleanField(null=True, editable=False)
    # The project whose conversations all have it, as long as this one is in it (`conversations.context.kept_entries`).
    kept_in = models.ForeignKey(
        "Project", on_delete=models.SET_NULL, null=True, blank=True, related_name="kept", db_index=False
    )
    history = models.JSONField(default=list, editable=False)

    class Meta:
        ordering = ["-said_at", "-id"]
        indexes = [
            models.Index(fields=["conversation", "state", "-said_at"], name="ledger_by_state"),
            models.Index(fields=["conversation", "topic"], name="ledger_by_topic", condition=Q(is_withdrawn=False)),
            models.Index(fields=["conversation", "message"], name="ledger_by_message"),
            models.Index(fields=["kept_in", "decided_at"], name="ledger_kept", condition=Q(kept_in__isnull=False)),
            models.Index(
                fields=["kept_for", "decided_at"], name="ledger_kept_for", condition=Q(kept_for__isnull=False)
            ),
        ]
        verbose_name_plural = "ledger entries"

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def about(self) -> Topic:
        return Topic(self.topic, self.value, self.forbids)

    def replaces(self, earlier: LedgerEntry) -> bool:
        """Whether this entry takes the place of an earlier one; a noted entry never replaces one in force."""
        if self.asks_about is not None:
            return False
        is_noted = self.chosen_state == self.State.NOTED and self.kind != self.Kind.WITHDRAWAL
        weaker = is_noted and earlier.chosen_state == self.State.IN_FORCE
        counts = self.State.DISMISSED not in (self.chosen_state, earlier.chosen_state)
        return counts and not weaker and self.about.replaces(earlier.about)

    def supersede(self, by: LedgerEntry | None) -> None:
        """Have another entry replace this one, or none any more; unsaved."""
        self.superseded_by = by.pk if by else None
        self.state = self.State.SUPERSEDED if by else self.chosen_state
        self.note(by="entry" if by else "history")

    def note(self, *, by: str) -> None:
        """Add the present state to the history.

        `by`: message, person, import (which puts nothing in force), budget (it had no room), entry (a later one),
        history (messages left or came back).
        """
        change: dict[str, Any] = {"state": self.state, "at": timezone.now().isoformat(), "by": by}
        self.history = [*self.history, change][-MAX_HISTORY:]
