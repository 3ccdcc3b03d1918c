from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import models
from django.utils import timezone

from conversations.models.spending import MonthlyBudget

PREFIX = "cs_"
HINT_CHARS = len(PREFIX) + 4
"""Characters of a key that are stored in plain text; the other 39 cannot be guessed."""

LAST_USE_INTERVAL = timedelta(minutes=1)
"""A key's last use is stored at most this often."""


class ApiKey(MonthlyBudget):
    """A key with which a program acts as its owner. Only its hash is stored; the key is shown once, when it is made.

    `hint` is the key's beginning, by which its owner recognises it. A revoked key is invalid, and its row is kept.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    hash = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=16, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used = models.DateTimeField(null=True, editable=False)
    searches_history = models.BooleanField(default=False, db_default=False)
    """Whether models that answer its calls may search the compacted part of a history."""
    # The project that calls with it belong to, unless they name another.
    project = models.ForeignKey(
        "Project", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    revoked_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def make(cls, user: AbstractBaseUser, name: str) -> tuple[ApiKey, str]:
        """A new key and its plain text. A fast hash is enough for 256 random bits."""
        plain = PREFIX + secrets.token_urlsafe(32)
        return cls.objects.create(user=user, name=name, hash=digest(plain), hint=plain[:HINT_CHARS]), plain


def key_of(plain: str) -> ApiKey | None:
    """The valid key with this text, with its user; None if there is none. Records the key's last use."""
    live = ApiKey.objects.select_related("user", "project").filter(revoked_at=None, user__is_active=True)
    key = live.filter(hash=digest(plain)).first()
    now = timezone.now()
    if key and (key.last_used is None or now - key.last_used > LAST_USE_INTERVAL):
        ApiKey.objects.filter(pk=key.pk).update(last_used=now)
    return key


def digest(plain: str) -> str:
    """The stored hash of a key: SHA-256 in hex."""
    return hashlib.sha256(plain.encode()).hexdigest()
