"""The cache that several processes share, in Redis."""

from __future__ import annotations

from typing import Any

from django_redis.client import DefaultClient


class Client(DefaultClient):
    """Values are JSON: a pickle would run the code of whoever can write to Redis. What is unreadable is not cached."""

    def get(self, key: Any, default: Any = None, *args: Any, **options: Any) -> Any:
        try:
            return super().get(key, default, *args, **options)
        except (ValueError, RecursionError):
            return default
