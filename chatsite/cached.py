"""The client of the cache in Redis, which several processes share."""

from __future__ import annotations

from typing import Any

from django_redis.client import DefaultClient


class Client(DefaultClient):
    """A client whose values are JSON: a pickle could run code of anybody who can write to Redis.

    An unreadable value counts as missing.
    """

    def get(self, key: Any, default: Any = None, *args: Any, **options: Any) -> Any:
        try:
            return super().get(key, default, *args, **options)
        except (ValueError, RecursionError):
            return default
