"""Ensures that a server without Redis is its database's only one, as two would not get each other's events."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections

from conversations.runtime import database

ADVISORY_KEY = 0x63686174
"""The key of the advisory lock in PostgreSQL that a server holds as long as it lives."""


class CannotStart(Exception):
    """The process cannot start; the message is the reason and the remedy."""


@contextmanager
def only_server() -> Iterator[bool]:
    """True if no other server can run, False if others may. Raises CannotStart if another runs and must not."""
    if database.is_sqlite():
        with _file_lock(Path(settings.DATA_DIR) / "serve.lock"):
            yield True
    elif not settings.REDIS_URL:
        with _advisory_lock():
            yield True
    else:
        yield False


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CannotStart(
                f"Another server is running on {path.parent}. Stop it, or set DATA_DIR for this one."
            ) from None
        yield


@contextmanager
def _advisory_lock() -> Iterator[None]:
    """Hold the advisory lock on a connection of its own, whose end releases it however the process ends."""
    own = connections.create_connection("default")
    own.inc_thread_sharing()  # another thread may close it
    try:
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_KEY])
            if not cursor.fetchone()[0]:
                raise CannotStart(
                    "Another server is running on the database of DATABASE_URL. Set REDIS_URL, so that they hear of "
                    "each other, or stop it."
                )
        yield
    finally:
        own.close()
