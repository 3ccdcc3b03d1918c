from __future__ import annotations

from django.conf import settings
from django.db import models

from conversations.models.conversation import MAX_SYSTEM_PROMPT, Conversation


class Preference(models.Model):
    """How one person wants the page, and what their new conversations begin with. No row: as the site has it."""

    class Theme(models.TextChoices):
        SYSTEM = "system", "As the system has it"
        LIGHT = "light"
        DARK = "dark"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    theme = models.CharField(max_length=16, choices=Theme, default=Theme.SYSTEM)
    enter_sends = models.BooleanField(default=True)
    model = models.ForeignKey("ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    mode = models.CharField(max_length=16, choices=Conversation.Mode, default=Conversation.Mode.ASSISTANT)
    system_prompt = models.TextField(blank=True, max_length=MAX_SYSTEM_PROMPT)

    def __str__(self) -> str:
        return f"preferences of {self.user_id}"
