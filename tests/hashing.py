"""A quick password hasher that records whether the connection was in a transaction while it hashed."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection

in_transaction: list[bool] = []


class RecordingHasher(MD5PasswordHasher):
    def encode(self, *args: Any, **kwargs: Any) -> str:
        in_transaction.append(connection.in_atomic_block)
        return super().encode(*args, **kwargs)
