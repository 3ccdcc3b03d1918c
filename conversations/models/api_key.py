from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import models
from django.utils import timezone

PREFIX = "cs_"
HINT = len(PREFIX) + 4
"""Characters of a key that are kept: the other 39 are as many as nobody guesses."""

USE_NOTED_EVERY = timedelta(minutes=1)


class ApiKey(models.Model):
    """A program's way in. Only a hash is stored: the key itself is shown once, when it is made.

    `hint` is its beginning, by which its owner knows it again. A revoked one lets nobody in, and stays on record.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    hash = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=16, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def make(cls, user: AbstractBaseUser, name: str) -> tuple[ApiKey, str]:
        """A new key and its plain text. 256 random bits need no slow hash."""
        plain = PREFIX + secrets.token_urlsafe(32)
        return cls.objects.create(user=user, name=name, hash=digest(plain), hint=plain[:HINT]), plain


def key_of(plain: str) -> ApiKey | None:
    """The key with this text, with its user, and that it was used; None for one that lets nobody in."""
    live = ApiKey.objects.select_related("user").filter(revoked_at=None, user__is_active=True)
    key = live.filter(hash=digest(plain)).first()
    now = timezone.now()
    if key and (key.last_used is None or now - key.last_used > USE_NOTED_EVERY):
        ApiKey.objects.filter(pk=key.pk).update(last_used=now)
    return key


def digest(plain: str) -> str:
    return hashlib.sha256(plain.encode()).hexdigest()
