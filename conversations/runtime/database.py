"""Locks, time limits, consistent reads and refusals in which SQLite and PostgreSQL differ.

Differences of settings are in `chatsite.settings`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from conversations.errors import Refused

logger = logging.getLogger(__name__)

STEPS = 1_000
"""Steps of SQLite's virtual machine between two looks at the clock: a few milliseconds."""
CHECKPOINT_WAIT_MS = 50
"""Milliseconds that a checkpoint of the write-ahead log waits for readers."""
RETRY_SECONDS = 5
"""Seconds after which a client may ask a busy database again."""
FREE_SECONDS = 60
"""Seconds after which a client may ask again if the disk was full."""
_LOCKED = re.compile(r"database (?:table )?is locked|lock timeout|deadlock detected|too many (?:clients|connections)")
_NOT_WRITABLE = re.compile(
    r"disk is full|disk I/O error|No space left on device|readonly database|in a read-only transaction"
)


class TookTooLong(Exception):
    """A query did not end within its time."""


def is_sqlite(of: Any = connection) -> bool:
    return bool(of.vendor == "sqlite")


def lock_rows(rows: QuerySet[Any, Any], *, of: tuple[str, ...] = ()) -> None:
    """Lock rows (`of` these relations, of all by default) until the transaction ends; others may refer to them.

    SQLite has one writer, which a transaction is from its beginning: nothing is asked there.
    """
    if connection.features.has_select_for_update:
        list(rows.select_for_update(no_key=True, of=of).values_list("pk"))


def lock_tables(models: Iterable[type[Model]]) -> None:
    """Within a transaction: others may read until it ends, and not write. SQLite's transaction sees to that itself."""
    if is_sqlite():
        return
    names = ", ".join(connection.ops.quote_name(model._meta.db_table) for model in models)
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


@contextmanager
def one_state() -> Iterator[None]:
    """All that is read inside is of one moment; nobody waits for it."""
    with connection.cursor() as cursor:
        if is_sqlite():
            # Not atomic(): it would take the lock of those who write.
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
        else:
            with transaction.atomic():
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End each query inside after `seconds`. Raises TookTooLong then."""
    connection.ensure_connection()
    raw: Any = connection.connection
    if is_sqlite():
        until = time.monotonic() + seconds
        raw.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    else:
        raw.execute(f"SET statement_timeout = {int(1000 * seconds)}")
    try:
        yield
    except OperationalError as error:
        if "interrupted" not in str(error) and "statement timeout" not in str(error):
            raise
        raise TookTooLong from None
    finally:
        if is_sqlite():
            raw.set_progress_handler(None, STEPS)
        else:
            with suppress(Exception):  # a transaction that failed has taken it back by itself
                raw.execute("RESET statement_timeout")


class DatabaseBusy(Refused):
    """Another transaction held the database for longer than a request may wait."""

    code = "busy"
    status = 503

    def __init__(self) -> None:
        super().__init__(_("The site's database is busy. Nothing was stored; try again."), retry_after=RETRY_SECONDS)


class DatabaseNotWritable(Refused):
    """The database's disk is full, fails or is read-only."""

    code = "not_writable"
    status = 503

    def __init__(self) -> None:
        super().__init__(
            _("The disk of the site's database is full or read-only. Nothing was stored: tell the administrator."),
            retry_after=FREE_SECONDS,
        )


def refusal_of(fault: BaseException | None) -> Refused | None:
    """The refusal for a fault that a busy database caused, or one that cannot be written; None for any other."""
    while fault is not None:
        if isinstance(fault, OperationalError) and _LOCKED.search(str(fault)):
            return DatabaseBusy()
        if isinstance(fault, DatabaseError) and _NOT_WRITABLE.search(str(fault)):
            logger.error("the database cannot be written: %s", str(fault).splitlines()[0])
            return DatabaseNotWritable()
        fault = fault.__cause__
    return None


def require_writable() -> None:
    """Write nothing that stays, as a write would: raises DatabaseError on a full disk and on a read-only database."""
    with connection.cursor() as cursor:
        if is_sqlite():
            cursor.execute("PRAGMA user_version")
            cursor.execute(f"PRAGMA user_version = {int(cursor.fetchone()[0])}")
        else:
            cursor.execute("SELECT current_setting('transaction_read_only') = 'on', pg_current_xact_id()")
            if cursor.fetchone()[0]:
                raise OperationalError("the database is read-only")


def checkpoint_wal() -> None:
    """Move SQLite's write-ahead log into the database: this form of it waits until no write is open.

    It holds writers up while someone reads an older state, as a backup does, so it gives up soon and comes again.
    PostgreSQL does it by itself.
    """
    if not is_sqlite():
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        usual = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {CHECKPOINT_WAIT_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")
