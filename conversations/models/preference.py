from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS, Conversation


class Preference(models.Model):
    """A person's settings of the page and defaults for new conversations; without a row the site's defaults apply."""

    class Theme(models.TextChoices):
        SYSTEM = "system", _("As the system has it")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    theme = models.CharField(max_length=16, choices=Theme, default=Theme.SYSTEM)
    language = models.CharField(max_length=8, blank=True, default="", db_default="")
    """The language of the pages; "": the first of the browser's that they are written in."""
    enter_sends = models.BooleanField(default=True)
    model = models.ForeignKey("ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    mode = models.CharField(max_length=16, choices=Conversation.Mode, default=Conversation.Mode.ASSISTANT)
    system_prompt = models.TextField(blank=True, max_length=MAX_SYSTEM_PROMPT_CHARS)

    remembers = models.BooleanField(default=False, db_default=False)
    """Whether chats outside of projects have the entries that the person keeps for all their chats."""
    favourite_models = models.JSONField(default=list, blank=True)
    """The ids of the model profiles that stand first where a model is chosen; ids of deleted profiles may be in it."""

    def __str__(self) -> str:
        return f"preferences of {self.user_id}"
