"""What the processes of a machine have counted, in files of one folder, so that each can tell of all of them.

A process takes a slot: a number that is locked for as long as it lives, however it ends. It goes on counting in the
files of whoever had the slot before it: nothing that was counted is lost, and there are no more files than there were
processes at a time. What is open now is not taken over, and in a slot that nobody holds it does not count.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from prometheus_client import Metric, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from chatsite.single_server import CannotStart
from chatsite.startup_checks import give_up

SLOTS = 1_000
KINDS = ("counter_", "gauge_", "histogram_")
OPEN = "gauge_live"
"""What the names of files begin with: all of them, and those that hold what is open now."""

_held: list[IO[bytes]] = []
"""The lock of this process's own slot."""


def begin() -> None:
    """Have all that this process counts written to METRICS_DIR. Before the first metric is made."""
    assert "conversations.runtime.metrics" not in sys.modules, "what was made before counts for itself"
    folder = Path(settings.METRICS_DIR)
    try:
        slot = _taken(folder)
    except CannotStart as error:
        give_up(error)
    for file in _files(folder, slot):
        if file.name.startswith(OPEN) or not _is_whole(file):
            file.unlink()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # the library looks there whenever it opens a file
    values.ValueClass = values.MultiProcessValue(lambda: slot)


def collect() -> Iterator[Metric]:
    """What all processes have counted, those too that have ended."""
    folder = Path(settings.METRICS_DIR)
    files = [file for file in _files(folder) if not file.name.startswith(OPEN) or _is_held(file)]
    yield from MultiProcessCollector.merge([str(file) for file in files if file.name.startswith("gauge_")])
    for kind in ("counter", "histogram"):
        yield from _summed(kind, [file for file in files if file.name.startswith(kind)])


def _summed(kind: str, files: list[Path]) -> Iterable[Metric]:
    """As the library does it, but that each series is taken apart once, and not once a process: a third of the time."""
    totals: dict[str, float] = defaultdict(float)
    for file in files:
        for key, value, *_ in MmapedDict.read_all_values_from_file(str(file)):
            totals[key] += value
    families: dict[str, Metric] = {}
    for key, value in totals.items():
        family, name, labels, documentation = json.loads(key)
        metric = families.setdefault(family, Metric(family, documentation, kind))
        series: Any = tuple(sorted(labels.items()))
        metric.add_sample(name, series, value)
    return MultiProcessCollector._accumulate_metrics(families, True)  # buckets add up to those below them


def _files(folder: Path, slot: str = "*") -> list[Path]:
    """Those that are ours to read: another user may have run a command."""
    found = folder.glob(f"*_{slot}.db")
    return [file for file in found if file.name.startswith(KINDS) and os.access(file, os.R_OK)]


def _taken(folder: Path) -> str:
    """A slot that nobody holds, ours from now on. Raises CannotStart."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for slot in map(str, range(SLOTS)):
            with suppress(BlockingIOError, PermissionError):  # another process has it, or another user
                file = (folder / f"{slot}.lock").open("ab")
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _held.append(file)
                return slot
    except OSError:
        pass
    raise CannotStart(f"METRICS_DIR must be a folder that can be written and locked: {folder}.")


def _is_held(file: Path) -> bool:
    """Whether the process lives that writes it."""
    slot = file.stem.rpartition("_")[2]
    with file.with_name(f"{slot}.lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_whole(file: Path) -> bool:
    """Not so where a machine lost its power while it was written."""
    try:
        for key, *_ in MmapedDict.read_all_values_from_file(str(file)):
            json.loads(key)
    except (RuntimeError, ValueError, struct.error):
        return False
    return True
