"""Takes a backup: the rows of one state of the database, while others go on writing to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from django.utils import timezone

from conversations.errors import Refused
from conversations.ops.backups.file_format import FORMAT, VERSION, Writer
from conversations.ops.backups.tables import migrations, permissions, tables
from conversations.runtime import database


def to_file(path: Path, *, force: bool = False) -> dict[str, int]:
    """Write `path`, whole or not at all, readable by its owner alone. Raises Refused or OSError."""
    if path.exists() and not (force and path.is_file()):
        raise Refused(f"{path} is there already; --force replaces a file.")
    part = path.with_name(f"{path.name}.part")
    try:
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Refused(f"{part} is there: delete it, unless another backup is writing it.") from None
    try:
        with os.fdopen(file, "wb") as out:
            counts = to_stream(out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return counts


def to_stream(out: BinaryIO) -> dict[str, int]:
    """Write the rows and return their number by table. Raises Refused or OSError."""
    writer = Writer(out)
    with database.one_state():
        applied, kept, names = migrations(), tables(), permissions()
        counts = {table.label: table.count() for table in kept}
        made = timezone.now().isoformat()
        writer.line({"format": FORMAT, "version": VERSION, "created_at": made, "migrations": applied, "counts": counts})
        for table in kept:
            writer.line(table.head)
            for row in table.rows(names):
                writer.line(row)
    writer.end(counts)
    return counts


def _sync_folder(folder: Path) -> None:
    """Flush the folder, so that the file's new name is on the disk as well."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
