"""`manage.py restore FILE`: fill an empty database from a file of `manage.py backup`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from conversations.errors import Refused
from conversations.ops import backups


class Command(BaseCommand):
    help = "Fill a database that holds no users and no conversations from a backup, exactly as it was."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="what `backup` wrote")
        parser.add_argument("--replace", action="store_true", help="delete what the database holds first")

    def handle(self, *args: Any, file: str, replace: bool, **options: Any) -> None:
        try:
            with Path(file).open("rb") as opened:
                restored = backups.restore(opened, replace=replace)
        except (Refused, OSError, DatabaseError) as error:
            raise CommandError(backups.first_line(error)) from error
        self.stdout.write(f"Restored {backups.summary(restored.counts)}.", self.style.SUCCESS)
        if restored.unreadable:
            self.stdout.write(_unreadable(restored.unreadable), self.style.WARNING)


def _unreadable(names: list[str]) -> str:
    return (
        f"The present SECRET_KEY cannot decrypt the secrets of: {', '.join(names)}. They are encrypted with the "
        "SECRET_KEY of the site that was backed up. Set the same one here; or enter keys anew in the admin, and turn "
        "off a two-step sign-in with `manage.py reset_second_step`."
    )
