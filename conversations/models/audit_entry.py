from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class AuditEntry(models.Model):
    """One act that concerns access: who did it, when, from where, to what. Holds no text of a chat and no secret.

    `person_name` stays where the account is deleted. `subject` names what was acted on, by its kind and id.
    """

    class Action(models.TextChoices):
        SIGNED_IN = "signed_in", "Signed in"
        SIGN_IN_FAILED = "sign_in_failed", "Sign-in failed"
        SIGNED_OUT = "signed_out", "Signed out"
        BROWSER_ENDED = "browser_ended", "Signed out another browser"
        SECOND_STEP_ON = "second_step_on", "Turned on two-step sign-in"
        SECOND_STEP_OFF = "second_step_off", "Turned off two-step sign-in"
        PASSKEY_ADDED = "passkey_added", "Added a passkey"
        PASSKEY_REMOVED = "passkey_removed", "Removed a passkey"
        PASSWORD_CHANGED = "password_changed", "Changed their password"
        EMAIL_CHANGED = "email_changed", "Changed their e-mail address"
        ACCOUNT_MADE = "account_made", "Made an account"
        ACCOUNT_DELETED = "account_deleted", "Deleted their account"
        KEY_MADE = "key_made", "Made an API key"
        KEY_REVOKED = "key_revoked", "Revoked an API key"
        SHARED = "shared", "Shared a chat"
        SHARE_ENDED = "share_ended", "Ended a share"
        EXPORTED = "exported", "Exported"
        LOOKED_AT = "looked_at", "Looked at another person's chat"
        ADMINISTERED = "administered", "Changed something in the administration"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    action = models.CharField("Action", max_length=32, choices=Action, editable=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", editable=False
    )
    person_name = models.CharField("Person", max_length=150, blank=True, editable=False)
    subject = models.CharField("What", max_length=200, blank=True, editable=False)
    address = models.CharField("Address", max_length=45, blank=True, editable=False)
    created_at = models.DateTimeField("When", default=timezone.now, editable=False)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.person_name}: {self.get_action_display()}"
