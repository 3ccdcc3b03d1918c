"""Reads and writes the backup's file: compressed JSON, one value a line; the last line has the hash of all others."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from conversations.errors import Refused
from conversations.ops.backups.tables import Key, Table, only_add, squashed, tables

FORMAT = "chatsite backup"
VERSION = 1
GZIP = 16 + zlib.MAX_WBITS
MAX_LINE = 64_000_000
"""The most bytes of a line. No row comes near it; only a file that is made to fill the memory does."""
DAMAGED = "The file is damaged, or is not the whole of a backup: {}. Nothing was restored."


class Writer:
    """Writes lines to `raw`, which it leaves open."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._gzip = zlib.compressobj(wbits=GZIP)
        self._digest = hashlib.sha256()

    def line(self, value: Any) -> None:
        line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise Refused(f"A row takes {len(line):,} bytes, and a line of a backup holds {MAX_LINE:,} at most.")
        self._digest.update(line)
        self._raw.write(self._gzip.compress(line))

    def end(self, counts: dict[str, int]) -> None:
        self.line({"end": counts, "sha256": self._digest.hexdigest()})
        self._raw.write(self._gzip.flush())


def read_rows(file: BinaryIO, migrations: dict[str, list[str]]) -> Iterator[tuple[Table, list[Any]]]:
    """Each row with its table. Raises Refused, possibly after the last row only: no row may be kept until then."""
    file.seek(0)
    lines = _values(file)
    header = next(lines, None)
    try:
        counts, is_earlier = _counts(header, migrations)
    except Refused:
        if isinstance(header, dict) and header.get("format") == FORMAT:
            deque(lines, maxlen=0)  # where the file was changed, what its first line says is not to be believed
        raise
    for label in counts:
        table = _table(label, next(lines, None), is_earlier)
        for number in range(counts[label]):
            row = next(lines, None)
            if not isinstance(row, list) or len(row) != len(table.fields):
                raise Refused(DAMAGED.format(f"row {number + 1:,} of {table.label} is not one"))
            yield table, row
    for end in lines:
        if end != {"end": counts}:
            raise Refused(DAMAGED.format("it holds other rows than it says"))


def _table(label: str, head: Any, is_earlier: bool) -> Table:
    """The table that begins in the file, with the fields that the file has of it. Raises Refused."""
    table = {table.label: table for table in tables()}[label]
    if head == table.head:
        return table
    names = head.get("fields") if isinstance(head, dict) and head.get("table") == label else None
    if not (is_earlier and isinstance(names, list) and (part := table.part(names))):
        raise Refused(DAMAGED.format(f"the rows of {label} are not where they belong"))
    return part


def _counts(header: Any, migrations: dict[str, list[str]]) -> tuple[dict[str, int], bool]:
    """(the number of rows of each table in the file, whether an earlier version made it). Raises Refused for a file
    that does not fit this database.
    """
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise Refused("This is not a backup of chatsite.")
    version = header.get("version")
    if version != VERSION:
        raise Refused(f"The backup is of version {version!r}, and this chatsite reads version {VERSION}: update it.")
    applied = _applied(header.get("migrations"))
    there, here = _keys(applied), _keys(migrations)
    if there - here or not only_add(here - there):
        raise Refused(_other_migrations(there, here))
    is_earlier = there != here
    counts, labels = header.get("counts"), {table.label for table in tables()}
    if not isinstance(counts, dict) or not (set(counts) == labels or (is_earlier and set(counts) < labels)):
        raise Refused(DAMAGED.format("its first line does not name the tables"))
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise Refused(DAMAGED.format("its first line does not count the rows"))
    return counts, is_earlier


def _applied(migrations: Any) -> dict[str, list[str]]:
    lists = list(migrations.values()) if isinstance(migrations, dict) else [None]
    if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
        raise Refused(DAMAGED.format("its first line does not name the migrations"))
    return squashed(migrations)


def _other_migrations(there: set[Key], here: set[Key]) -> str:
    differences = {"with": there - here, "without": here - there}
    difference = " and ".join(
        f"{what} {', '.join(sorted(map('.'.join, keys)))}" for what, keys in differences.items() if keys
    )
    return f"The backup was made by another version of chatsite, {difference}: restore it with that one, then update."


def _keys(migrations: dict[str, list[str]]) -> set[Key]:
    return {(app, name) for app, names in migrations.items() for name in names}


def _values(file: BinaryIO) -> Iterator[Any]:
    """The lines as values. The last line, the trailer, is removed and its hash compared. Raises Refused."""
    digest = hashlib.sha256()
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as lines:
            line = _line(lines)
            while following := _line(lines):
                digest.update(line)
                yield json.loads(line)
                line = following
            trailer = json.loads(line)
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise Refused(DAMAGED.format("it cannot be decompressed")) from None
    except (ValueError, RecursionError):
        raise Refused(DAMAGED.format("a line of it cannot be read")) from None
    if not isinstance(trailer, dict) or trailer.pop("sha256", None) != digest.hexdigest():
        raise Refused(DAMAGED.format("it was cut short or changed"))
    yield trailer


def _line(lines: gzip.GzipFile) -> bytes:
    line = lines.readline(MAX_LINE + 1)
    if len(line) > MAX_LINE:
        raise Refused(DAMAGED.format(f"a line is longer than {MAX_LINE:,} bytes"))
    return line
