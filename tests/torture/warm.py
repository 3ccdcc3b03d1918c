"""Processes that begin at once: forked from one that has imported everything, then run as their command line says.

A site that is killed every second would spend its time on imports else. `warm` is what takes the place of Popen.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from typing import IO, Any


class Nursery:
    """The process that others are forked from; one for each environment."""

    def __init__(self, env: dict[str, str], cwd: Any) -> None:
        command = [sys.executable, "-m", __name__]
        self.parent = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    def born(self, command: list[str], log: str) -> int:
        assert self.parent.stdin
        self.parent.stdin.write(json.dumps([command, log]) + "\n")
        self.parent.stdin.flush()
        return self._read()

    def end(self) -> None:
        self.parent.kill()
        self.parent.wait()

    def _read(self) -> int:
        assert self.parent.stdout
        return int(self.parent.stdout.readline())


class Warm:
    """As much of a Popen as a site needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def send_signal(self, how: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = 60) -> int:
        limit = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > limit:
                raise subprocess.TimeoutExpired("a process", timeout)
            time.sleep(0.005)
        return 0


_nurseries: dict[str, Nursery] = {}


def warm(command: list[str], *, cwd: Any, env: dict[str, str], stdout: IO[Any], stderr: IO[Any]) -> Warm:
    """A process that runs `command` as Popen would have it run."""
    place = env["DATA_DIR"]
    if place not in _nurseries:
        _nurseries[place] = Nursery(env, cwd)
    return Warm(_nurseries[place].born(command, str(stdout.name)))


def end_all() -> None:
    while _nurseries:
        _nurseries.popitem()[1].end()


def main() -> None:
    """Fork for every line, and say the child's id. What has a loop or a thread of its own is not imported before.

    Whoever reads this may be killed: then all that was forked ends too.
    """
    import django

    os.setpgrp()

    django.setup()
    import openai.resources.chat  # noqa: F401
    import uvicorn  # noqa: F401

    import chatsite.asgi
    import chatsite.celery
    import chatsite.urls  # noqa: F401
    from compression.core.tokens import count_tokens

    count_tokens("the first count loads the vocabulary")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print(0, flush=True)
    while line := sys.stdin.readline():
        if pid := os.fork():
            print(pid, flush=True)
        else:
            _become(*json.loads(line))
    os.killpg(0, signal.SIGKILL)


def _become(command: list[str], log: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nowhere, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    status = 0
    try:
        sys.argv = command[1:] if command[0] == sys.executable else command
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
