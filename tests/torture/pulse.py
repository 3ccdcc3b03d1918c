"""Asks a site whether it is alive, every 20 ms on one connection, from a process of its own.

`python -m tests.torture.pulse HOST PORT` writes a line of milliseconds for each answer, and ends with its input.
"""

from __future__ import annotations

import http.client
import os
import select
import subprocess
import sys
import time
from typing import Self

EVERY = 0.02
PATIENCE = 120.0


class Pulse:
    """What `/healthz` took, in milliseconds, while the block ran."""

    def __init__(self, port: int) -> None:
        self.port, self.milliseconds, self.failures = port, list[float](), 0

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.torture.pulse", "127.0.0.1", str(self.port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has begun
        return self

    def __exit__(self, *_: object) -> None:
        told, _ = self._process.communicate()
        for line in told.splitlines():
            status, milliseconds = line.split()
            self.milliseconds.append(float(milliseconds))
            self.failures += status != "200"

    @property
    def worst(self) -> float:
        return max(self.milliseconds)

    @property
    def usual(self) -> float:
        return sorted(self.milliseconds)[len(self.milliseconds) // 2]


def main(host: str, port: int) -> None:
    connection: http.client.HTTPConnection | None = None
    while not select.select([sys.stdin], [], [], 0)[0]:
        began = time.perf_counter()
        try:
            connection = connection or http.client.HTTPConnection(host, port, timeout=PATIENCE)
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, http.client.HTTPException):
            connection, status = None, 0
        took = time.perf_counter() - began
        print(status, f"{1000 * took:.1f}", flush=True)
        time.sleep(max(0.0, EVERY - took))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
