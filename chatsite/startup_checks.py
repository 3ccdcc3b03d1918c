"""What a process needs before it begins. What is missing is said in one line, which never holds a secret."""

from __future__ import annotations

import sys
from typing import NoReturn

from django.core.checks import run_checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chatsite.single_server import CannotStart

GIVEN_UP = 3
"""The exit code after which uvicorn does not start another process in this one's place, to fail again."""


def require_settings() -> None:
    """Raises CannotStart where a setting cannot work."""
    faults = [message.msg for message in run_checks() if message.is_serious()]
    if faults:
        raise CannotStart(" ".join(faults))


def require_database() -> None:
    """Raises CannotStart where the database cannot be used."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        place = connection.settings_dict
        where = f"{place['HOST']}:{place['PORT']}" if place["HOST"] else place["NAME"]
        raise CannotStart(f"DATABASE_URL: the database at {where} cannot be used ({type(error).__name__}).") from None


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def require_migrated() -> None:
    """Raises CannotStart where the database cannot be used, or is of an older version."""
    require_database()
    if not is_migrated():
        raise CannotStart("The database of DATABASE_URL is not up to date: run `python manage.py migrate` first.")


def give_up(error: Exception) -> NoReturn:
    """End this process, and say why."""
    print(f"Configuration: {error}", file=sys.__stderr__)  # what Celery makes of the other is a warning of its own
    sys.exit(GIVEN_UP)
