from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from conversations.models.encrypted import EncryptedTextField

MAX_TIMEOUT_SECONDS = 600
MAX_RESULT_CHARS = 1_000_000
"""The most characters of a tool's result; the rest is not kept."""


class ToolServer(models.Model):
    """A tool server that speaks the Model Context Protocol; only administrators set one up.

    `tools` are its definitions [{name, description, parameters}] of the administrator's last look; models are offered
    the `allowed` ones of them, as defined there. `environment` and `headers` are encrypted lines NAME=value.
    """

    class Transport(models.TextChoices):
        STDIO = "stdio", "a program on this machine (stdio)"
        HTTP = "http", "an address (streamable HTTP)"

    name = models.CharField(
        max_length=20,
        unique=True,
        validators=[RegexValidator(r"\A[a-z][a-z0-9_-]*\Z", "Small letters, digits, - and _.")],
    )
    transport = models.CharField(max_length=8, choices=Transport, default=Transport.STDIO)
    command = models.CharField(max_length=1_000, blank=True, help_text="The program and its arguments.")
    environment = EncryptedTextField(blank=True)
    url = models.CharField("URL", max_length=500, blank=True)
    headers = EncryptedTextField(blank=True)
    timeout_seconds = models.PositiveIntegerField(
        default=30, validators=[MinValueValidator(1), MaxValueValidator(MAX_TIMEOUT_SECONDS)]
    )
    max_characters = models.PositiveIntegerField(
        default=200_000, validators=[MinValueValidator(100), MaxValueValidator(MAX_RESULT_CHARS)]
    )
    tools = models.JSONField(default=list, blank=True, editable=False)
    allowed = models.JSONField(default=list, blank=True)
    enabled = models.BooleanField(default=True)
    looked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
