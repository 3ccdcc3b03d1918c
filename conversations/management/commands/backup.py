"""`manage.py backup FILE`: all that people made on the site in one file, while it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from conversations.errors import Refused
from conversations.ops import backups


class Command(BaseCommand):
    help = "Write users, conversations and all that belongs to them to a file, which `restore` reads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help='where to; "-" is standard output')
        parser.add_argument("--force", action="store_true", help="replace the file if it is there")

    def handle(self, *args: Any, file: str, force: bool, **options: Any) -> None:
        try:
            counts = _to_stdout() if file == "-" else backups.to_file(Path(file), force=force)
        except (Refused, OSError, DatabaseError) as error:
            raise CommandError(f"No backup was made. {backups.first_line(error)}") from error
        output = self.stderr if file == "-" else self.stdout
        output.write(f"{backups.summary(counts)} in {file}", self.style.SUCCESS)


def _to_stdout() -> dict[str, int]:
    if sys.stdout.isatty():
        raise Refused("A backup is not for a terminal: send it to a file or a program.")
    counts = backups.to_stream(sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return counts
