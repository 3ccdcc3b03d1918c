"""Checks a process's needs before it starts; a missing one is reported in one line, without secrets."""

from __future__ import annotations

import sys
from typing import NoReturn

from django.core.checks import run_checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from chatsite.single_server import CannotStart

OWN_APPS = ("conversations", "compression")
LAST_BEFORE_SQUASHING = "3ca26d3d"
"""The last commit that has all migrations from before 0.1.0; one migration of each app replaces them."""
EXIT_CODE = 3
"""The exit code of a start that failed; after it, uvicorn does not start another process that would fail too."""


def require_settings() -> None:
    """Raise CannotStart if a setting is invalid."""
    faults = [message.msg for message in run_checks() if message.is_serious()]
    if faults:
        raise CannotStart(" ".join(faults))


def require_database() -> None:
    """Raise CannotStart if the database cannot be used."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        place = connection.settings_dict
        where = f"{place['HOST']}:{place['PORT']}" if place["HOST"] else place["NAME"]
        raise CannotStart(f"DATABASE_URL: the database at {where} cannot be used ({type(error).__name__}).") from None


def is_migrated() -> bool:
    """Whether all migrations have been applied to the database."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def require_known_schema() -> None:
    """Raise CannotStart if a newer version has migrated the database, or if it is older than the first release."""
    disk = MigrationLoader(None).disk_migrations
    applied = {key for key in MigrationRecorder(connection).applied_migrations() if key[0] in OWN_APPS}
    squashed = [set(migration.replaces) for migration in disk.values()]
    if any(applied & replaced and not replaced <= applied for replaced in squashed):
        raise CannotStart(
            "The database of DATABASE_URL is of a version before 0.1.0 that cannot be upgraded at once: "
            f"start chatsite of commit {LAST_BEFORE_SQUASHING} once, then this version."
        )
    if later := sorted(applied - set(disk) - set().union(*squashed)):
        raise CannotStart(
            f"The database of DATABASE_URL is of a newer version of chatsite, which applied {'.'.join(later[-1])}. "
            "Start that version, or restore a backup from before the upgrade."
        )


def require_migrated() -> None:
    """Raise CannotStart if the database cannot be used, lacks migrations, or has those of a newer version."""
    require_database()
    require_known_schema()
    if not is_migrated():
        raise CannotStart("The database of DATABASE_URL is not up to date: run `python manage.py migrate` first.")


def give_up(error: Exception) -> NoReturn:
    """End this process with the error's text."""
    print(f"Configuration: {error}", file=sys.__stderr__)  # Celery turns sys.stderr's lines into log warnings
    sys.exit(EXIT_CODE)
