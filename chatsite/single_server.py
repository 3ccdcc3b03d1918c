"""Whether this is the only server of its database: without Redis, two would not hear of each other."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections

from conversations.runtime import database

ADVISORY_KEY = 0x63686174
"""Of the lock that a server holds in PostgreSQL for as long as it lives."""


class CannotStart(Exception):
    """The message says why not, and what to do."""


@contextmanager
def only_server() -> Iterator[bool]:
    """True while no other can be at work, False where others may be. Raises CannotStart where they must not."""
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
    """On a connection of its own: the lock goes with it, however the process ends."""
    own = connections.create_connection("default")
    own.inc_thread_sharing()  # it may be let go of by another thread
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
