"""Shares the metrics of a machine's processes in files of one folder, so that each process can report all of them.

A process takes a slot, a number that is locked as long as the process lives. It continues the files of the slot's last
process, so no counts are lost, and there are only as many files as processes at a time. Gauges of open connections are
not continued, and they do not count in a slot without a living process.
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

MAX_SLOTS = 1_000
KINDS = ("counter_", "gauge_", "histogram_")
OPEN = "gauge_live"
"""KINDS are the prefixes of the files' names; OPEN is that of gauges of open connections."""

_held: list[IO[bytes]] = []
"""The locked file of this process's slot."""


def begin() -> None:
    """Make this process write its metrics to METRICS_DIR. Call it before the first metric is made."""
    assert "conversations.runtime.metrics" not in sys.modules, "earlier metrics would count this process alone"
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
    """The metrics of all processes, including those that have ended."""
    folder = Path(settings.METRICS_DIR)
    files = [file for file in _files(folder) if not file.name.startswith(OPEN) or _is_held(file)]
    yield from MultiProcessCollector.merge([str(file) for file in files if file.name.startswith("gauge_")])
    for kind in ("counter", "histogram"):
        yield from _summed(kind, [file for file in files if file.name.startswith(kind)])


def _summed(kind: str, files: list[Path]) -> Iterable[Metric]:
    """The sums of all files' series. Parsing each series once, not once per process, takes a third of the time."""
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
    """The readable files of a slot; another user's commands may have left unreadable ones."""
    found = folder.glob(f"*_{slot}.db")
    return [file for file in found if file.name.startswith(KINDS) and os.access(file, os.R_OK)]


def _taken(folder: Path) -> str:
    """Lock a free slot and return its number. Raises CannotStart if the folder cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for slot in map(str, range(MAX_SLOTS)):
            with suppress(BlockingIOError, PermissionError):  # the slot belongs to another process or user
                file = (folder / f"{slot}.lock").open("ab")
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _held.append(file)
                return slot
    except OSError:
        pass
    raise CannotStart(f"METRICS_DIR must be a folder that can be written and locked: {folder}.")


def _is_held(file: Path) -> bool:
    """Whether the process that writes the file is alive."""
    slot = file.stem.rpartition("_")[2]
    with file.with_name(f"{slot}.lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_whole(file: Path) -> bool:
    """Whether a file can be parsed; a power failure while writing can damage it."""
    try:
        for key, *_ in MmapedDict.read_all_values_from_file(str(file)):
            json.loads(key)
    except (RuntimeError, ValueError, struct.error):
        return False
    return True
