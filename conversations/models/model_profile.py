from __future__ import annotations

import re
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from compression.core.values import Window
from conversations.models.encrypted import EncryptedTextField
from conversations.validation import host_of

REPLY_TOKENS = 1_000
"""Tokens reserved for a reply if the profile names no maximum."""
LOCAL_SHARE = 0.85
"""The usable share of a local model's window: its template's and tokeniser's tokens can only be estimated."""


def usable_window(
    window: int, *, max_reply_tokens: int | None = None, is_local: bool = False, correction: float = 1.25
) -> Window:
    """The window as requests are measured against it, by SPEC: share of a local window, reserve, correction."""
    size = int(window * LOCAL_SHARE) if is_local else window
    return Window(size=size, reserve=min(max_reply_tokens or REPLY_TOKENS, size // 4), correction=correction)


DEFAULT_WINDOW = usable_window(8_192)
"""The window of a conversation without a model."""
OWN_COUNT = Window(size=0, reserve=0)
"""Leaves tokens as this site counts them, for exports: they are the same for all models."""


def validate_base_url(address: str) -> None:
    """Raise ValidationError unless the address is an HTTP URL; hosts without a dot, as in local networks, are valid."""
    if not host_of(address) or re.search(r"\s", address):
        raise ValidationError("Enter an address that begins with http:// or https:// and names a host.")


THINKING_SILENCE_SECONDS = 600
"""How long a model that is asked to think may be silent, at least."""


class Effort(models.TextChoices):
    """How hard a model thinks before a reply."""

    NONE = "none", _("None")
    LOW = "low", _("Low")
    MEDIUM = "medium", _("Medium")
    HIGH = "high", _("High")


class ModelProfile(models.Model):
    """A model that conversations can use, with its server, window, prices and abilities."""

    class Provider(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        ANTHROPIC = "anthropic", "Anthropic"
        BUILTIN = "builtin", "Built-in"

    class Role(models.TextChoices):
        CHAT = "chat", "Chat"
        FAST = "fast", "fast summaries"
        STANDARD = "standard", "standard summaries"

    class ChatTemplate(models.TextChoices):
        """The histories that a model's chat template accepts, each kind stricter than the one before."""

        FREE = "free", "free: messages as they are"
        STRICT = "strict", "strict: one system message, then user and assistant in turn"
        NO_SYSTEM = "no_system", "no system role: the same, with the system message inside the first one of the user"

    class WindowSource(models.TextChoices):
        """How the context window is known."""

        HAND = "hand", "set by hand"
        NAME = "name", "known by the model's name"
        ASKED = "asked", "asked of its server"
        COUNTED = "counted", "found by the tokens that its server counts"
        MARK = "mark", "found by a mark at the head of requests, which the model no longer repeats"
        INHERITED = "inherited", "as the chat model of its server"
        DEFAULT = "default", "not known: the smallest common one"

    name = models.CharField(max_length=100, unique=True)
    provider = models.CharField(max_length=16, choices=Provider, default=Provider.OPENAI)
    model_id = models.CharField(max_length=200)
    base_url = models.CharField(blank=True, max_length=500, validators=[validate_base_url])
    api_key = EncryptedTextField(blank=True)
    window = models.PositiveIntegerField(
        default=8_192, validators=[MinValueValidator(1_024), MaxValueValidator(100_000_000)]
    )
    window_source = models.CharField(max_length=16, choices=WindowSource, default=WindowSource.HAND, editable=False)
    window_server = models.CharField(max_length=40, blank=True, editable=False)
    """The kind of the server that gave the window; "" for other sources."""
    window_known_at = models.DateTimeField(null=True, blank=True, editable=False)
    window_replaced = models.PositiveIntegerField(null=True, blank=True, editable=False)
    """The larger window that the profile had before its server was found to read less; None if it was not."""
    window_evidence = models.JSONField(default=dict, editable=False)
    """Evidence that the server reads less: see `conversations.llm.probes.window_reports`."""
    max_reply_tokens = models.PositiveIntegerField(null=True, blank=True)
    price_input = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    price_output = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    price_cached = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    parameters_billion = models.FloatField(null=True, blank=True)
    role = models.CharField(max_length=16, choices=Role, default=Role.CHAT)
    sees_images = models.BooleanField(default=False, help_text="Images are sent to it; to others, only their names.")
    calls_tools = models.BooleanField(default=False, help_text="Tools are offered to it.")
    effort = models.CharField(
        max_length=8,
        choices=Effort,
        blank=True,
        default="",
        db_default="",
        help_text="How hard it thinks before a reply, unless a conversation sets it. Empty: the provider's default. "
        "A server that refuses this is asked without it.",
    )
    silence_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(10), MaxValueValidator(3_600)],
        help_text="Seconds of silence after which a reply is given up: 10 to 3,600. Empty: the site's default, and at "
        "least 600 for a model that thinks.",
    )
    chat_template = models.CharField(
        max_length=16,
        choices=ChatTemplate,
        default=ChatTemplate.FREE,
        help_text="Learned when a server refuses messages for their roles. Anthropic's API needs none.",
    )
    is_local = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    groups = models.ManyToManyField(
        "auth.Group",
        blank=True,
        related_name="+",
    )
    from_environment = models.BooleanField(default=False, editable=False)
    token_correction = models.FloatField(default=1.25, editable=False)
    token_reports = models.JSONField(default=list, editable=False)
    """The measurements that the correction is computed from: see `conversations.llm.token_correction`."""

    class Meta:
        ordering = ["-enabled", "id"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def is_able(cls, provider: str | None) -> bool:
        """Whether a provider's models take images and tools at all."""
        return provider is not None and provider != cls.Provider.BUILTIN

    @property
    def can_see(self) -> bool:
        """Whether images are sent to the model; the built-in one would refuse them."""
        return self.sees_images and self.is_able(self.provider)

    @property
    def can_call(self) -> bool:
        """Whether tools are offered to the model; the built-in one is too small for them."""
        return self.calls_tools and self.is_able(self.provider)

    @property
    def sends_as_is(self) -> bool:
        """Whether messages are sent as assembled, without being rearranged for the model's chat template."""
        return self.chat_template == self.ChatTemplate.FREE or self.provider != self.Provider.OPENAI

    @property
    def usable_window(self) -> Window:
        return usable_window(
            self.window,
            max_reply_tokens=self.max_reply_tokens,
            is_local=self.is_local,
            correction=self.token_correction,
        )

    def silence(self, effort: str, *, default: float) -> float:
        """The seconds that the model may send nothing, asked with an effort; `default` is the site's time."""
        if self.silence_seconds:
            return float(self.silence_seconds)
        return default if effort in ("", Effort.NONE) else max(default, THINKING_SILENCE_SECONDS)

    def cost(self, *, prompt: int, cached: int, completion: int) -> Decimal | None:
        """The cost in US dollars of the tokens that the provider reported; None if a price is missing.

        `cached` is a part of `prompt`; without a price of its own it costs as much as other input.
        """
        if self.price_input is None or self.price_output is None:
            return None
        fresh, reused = prompt - cached, self.price_input if self.price_cached is None else self.price_cached
        return (fresh * self.price_input + cached * reused + completion * self.price_output) / 1_000_000
