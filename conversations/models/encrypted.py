"""A model field that encrypts secrets in the database with a key derived from SECRET_KEY."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class EncryptedTextField(models.TextField):
    """A text field whose value is encrypted in the database and plain in Python."""

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return decrypt(value) if value else value

    def get_prep_value(self, value: str | None) -> str | None:
        return encrypt(value) if value else value


def encrypt(plain: str) -> str:
    """The text encrypted with the first of the site's keys."""
    return _fernet().encrypt(plain.encode()).decode()


def decrypt(stored: str) -> str:
    """The plain text, or "" if SECRET_KEY has changed since: the administrator then enters the secret again."""
    from cryptography.fernet import InvalidToken

    try:
        return _fernet().decrypt(stored.encode()).decode()
    except InvalidToken:
        return ""


def _fernet() -> MultiFernet:
    # Import cryptography on first use: it takes 10 MB, and most pages need no secret.
    from cryptography.fernet import Fernet, MultiFernet

    keys = [str(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest())) for key in keys])
