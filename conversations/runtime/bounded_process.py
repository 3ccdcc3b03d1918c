"""Runs work on untrusted input in worker processes with limits of time and memory, apart from the server's process.

A worker is started when it is needed and does one job at a time. It is ended when a job exceeds a limit, and after
some idle time.
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

from conversations.runtime import bounded_worker
from conversations.runtime.bounded_worker import DONE, FAILED, ITEM, LENGTH, MEMORY, REFUSED

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
IDLE_SECONDS = 60.0
"""An idle worker is kept this long for the next job."""
MAX_READ_BYTES = 1_000_000
"""The most bytes read from a pipe at once."""
_pools: list[Pool] = []


class JobFailed(Exception):
    """The job failed: its worker process ended or reported an error."""


class OverTime(JobFailed):
    """The job took more time than its limit."""


class OverMemory(JobFailed):
    """The job took more memory than its limit."""


class Worker:
    """One worker process. Only one thread may use it at a time."""

    def __init__(self, module: str, megabytes: int) -> None:
        self.used_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", bounded_worker.__name__, module, str(megabytes)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, argument: object, seconds: float) -> Iterator[Any]:
        """The answers as they arrive. Raises the Refused that the work raised, or JobFailed."""
        # `seconds` limits CPU time in the worker; the clock's limit is longer, as a busy machine gives it less CPU.
        until = time.monotonic() + 5 * seconds + 10
        try:
            bounded_worker.write_message(cast(BinaryIO, self.process.stdin), (seconds, argument))
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
                raise JobFailed(value)

    def end(self) -> None:
        """Kill the process and wait for its end."""
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
            part = os.read(pipe.fileno(), min(size, MAX_READ_BYTES))
            if not part:
                raise self._ended()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _ended(self) -> JobFailed:
        """The error for the process's exit code: SIGPROF is its limit of CPU time, SIGKILL the kernel out of memory."""
        ends: dict[int, type[JobFailed]] = {-signal.SIGPROF: OverTime, -signal.SIGKILL: OverMemory}
        code = self.process.wait()
        return ends.get(code, JobFailed)(f"the process ended with {code}")


class Pool:
    """The worker processes for one module's `work`, one for each thread that runs a job; callers limit their number."""

    def __init__(self, module: str, *, seconds: float, megabytes: int) -> None:
        self._module, self._seconds, self._megabytes = module, seconds, megabytes
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._reaper: threading.Thread | None = None
        _pools.append(self)

    def run(self, argument: object) -> Any:
        """The result of `work(argument)`. Raises the Refused that it raises, or OverTime, OverMemory or JobFailed."""
        (answer,) = self.stream(argument)
        return answer

    def stream(self, argument: object) -> Iterator[Any]:
        """The answers that the generator `work(argument)` yields, as they arrive. Raises as `run` does."""
        if bounded_worker.is_here:
            result = import_module(self._module).work(argument)
            yield from result if isinstance(result, GeneratorType) else (result,)
            return
        from conversations.errors import Refused

        worker = self._taken()
        is_well = False
        try:
            yield from worker.ask(argument, self._seconds)
            is_well = True
        except Refused as refusal:
            is_well = True
            refusal.translate()
            raise
        except JobFailed as error:
            logger.warning("%s was given up: %s %s", self._module, type(error).__name__, error)
            raise
        finally:
            if is_well:
                self._give_back(worker)
            else:
                worker.end()

    def close(self) -> None:
        """End all idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def forget(self) -> None:
        """Drop all workers in a forked process: they belong to its parent."""
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
        """End workers that were idle for IDLE_SECONDS, until no idle worker is left."""
        while True:
            time.sleep(IDLE_SECONDS / 4)
            with self._lock:
                old = [
                    worker_process
                    for worker_process in self._idle
                    if worker_process.used_at + IDLE_SECONDS < time.monotonic()
                ]
                self._idle = [worker_process for worker_process in self._idle if worker_process not in old]
                is_over = not self._idle
                if is_over:
                    self._reaper = None
            for worker in old:
                worker.end()
            if is_over:
                return


def close_all() -> None:
    """End the idle workers of all pools."""
    for pool in _pools:
        pool.close()


def _forget_all() -> None:
    for pool in _pools:
        pool.forget()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget_all)
