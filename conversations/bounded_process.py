"""Work on what others have written, in processes with a limit of time and memory: the one that serves goes on.

A process begins when it is needed, does one piece of work at a time, is ended where that takes too much, and ends
by itself when it has had nothing to do for a while.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import GeneratorType
from typing import Any, BinaryIO, cast

from conversations import bounded_worker
from conversations.bounded_worker import DONE, FAILED, ITEM, LENGTH, MEMORY, REFUSED

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent
IDLE_SECONDS = 60.0
"""That a process is kept for the next piece of work."""
PIECE = 1_000_000
"""Bytes that are read at once."""
_pools: list[Pool] = []


class NotDone(Exception):
    """The work came to no end; its process is gone, or gave up."""


class OverTime(NotDone):
    pass


class OverMemory(NotDone):
    pass


class Worker:
    """One process. Not for two threads at once."""

    def __init__(self, module: str, megabytes: int) -> None:
        self.used_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", bounded_worker.__name__, module, str(megabytes)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, argument: object, seconds: float) -> Iterator[Any]:
        """The answers as they come. Raises Refused as it was raised there, or NotDone."""
        # On a busy machine it gets less than a processor: more of the clock than of the processor may go by.
        until = time.monotonic() + 5 * seconds + 10
        try:
            bounded_worker.told(cast(BinaryIO, self.process.stdin), (seconds, argument))
        except OSError:
            raise self._ended() from None
        while True:
            kind, value = self._next(until)
            if kind == ITEM:
                yield value
            elif kind == DONE:
                self.used_at = time.monotonic()
                return
            elif kind == REFUSED:
                raise value
            elif kind == MEMORY:
                raise OverMemory("no more memory")
            elif kind == FAILED:
                raise NotDone(value)

    def end(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                cast(BinaryIO, pipe).close()
        self.process.wait()

    def _next(self, until: float) -> Any:
        (length,) = LENGTH.unpack(self._read(LENGTH.size, until))
        return pickle.loads(self._read(length, until))

    def _read(self, size: int, until: float) -> bytes:
        pipe = cast(BinaryIO, self.process.stdout)
        parts = []
        while size:
            if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                raise OverTime("the clock")
            part = os.read(pipe.fileno(), min(size, PIECE))
            if not part:
                raise self._ended()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _ended(self) -> NotDone:
        """Why: the kernel ends it for its time, and kills what takes the memory of the machine."""
        ends: dict[int, type[NotDone]] = {-signal.SIGPROF: OverTime, -signal.SIGKILL: OverMemory}
        code = self.process.wait()
        return ends.get(code, NotDone)(f"the process ended with {code}")


class Pool:
    """Processes for the work of one module; as many as there are threads that ask, who see to it that they are few."""

    def __init__(self, module: str, *, seconds: float, megabytes: int) -> None:
        self._module, self._seconds, self._megabytes = module, seconds, megabytes
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._reaper: threading.Thread | None = None
        _pools.append(self)

    def run(self, argument: object) -> Any:
        """What `work(argument)` answers. Raises Refused as it does, OverTime, OverMemory, or NotDone."""
        (answer,) = self.stream(argument)
        return answer

    def stream(self, argument: object) -> Iterator[Any]:
        """The same of work that yields its answers, as they come."""
        if bounded_worker.is_here:
            found = import_module(self._module).work(argument)
            yield from found if isinstance(found, GeneratorType) else (found,)
            return
        from conversations.errors import Refused

        worker = self._taken()
        is_well = False
        try:
            yield from worker.ask(argument, self._seconds)
            is_well = True
        except Refused:
            is_well = True
            raise
        except NotDone as error:
            logger.warning("%s was given up: %s %s", self._module, type(error).__name__, error)
            raise
        finally:
            if is_well:
                self._give_back(worker)
            else:
                worker.end()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def forget(self) -> None:
        """In a process that was forked: the workers are its parent's."""
        self._lock, self._idle, self._reaper = threading.Lock(), [], None

    def _taken(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                worker.end()
        return Worker(self._module, self._megabytes)

    def _give_back(self, worker: Worker) -> None:
        worker.used_at = time.monotonic()
        with self._lock:
            self._idle.append(worker)
            if self._reaper is None:
                self._reaper = threading.Thread(target=self._reap, name=f"reaper {self._module}", daemon=True)
                self._reaper.start()

    def _reap(self) -> None:
        """End what has had nothing to do for long, until there is none."""
        while True:
            time.sleep(IDLE_SECONDS / 4)
            with self._lock:
                old = [one for one in self._idle if one.used_at + IDLE_SECONDS < time.monotonic()]
                self._idle = [one for one in self._idle if one not in old]
                is_over = not self._idle
                if is_over:
                    self._reaper = None
            for worker in old:
                worker.end()
            if is_over:
                return


def close_all() -> None:
    for pool in _pools:
        pool.close()


def _forget_all() -> None:
    for pool in _pools:
        pool.forget()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget_all)
