"""A process that is asked in lines of JSON on its standard input, and answers in lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

TICKS = os.sysconf("SC_CLK_TCK")


class Child:
    """`python -m MODULE ARGUMENTS …`, ended with the block."""

    def __init__(self, module: str, *arguments: str, environment: dict[str, str], log: Path) -> None:
        self.command = [sys.executable, "-m", module, *arguments]
        self.environment = environment
        self.log = log

    def start(self) -> Self:
        with self.log.open("a") as errors:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, bufsize=1,
            )  # fmt: skip
        return self

    def tell(self, **what: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(what) + "\n")

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"{' '.join(self.command)} has ended:\n{self.log.read_text()[-2_000:]}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **what: Any) -> dict[str, Any]:
        self.tell(**what)
        return self.answer()

    def kill(self) -> None:
        """As a machine ends that loses its power."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def cpu(self) -> float:
        return cpu(self.process.pid)

    @property
    def memory(self) -> int:
        return resident(self.process.pid)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


def resident(process: int) -> int:
    """The bytes of a process that are in the machine's memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def cpu(process: int) -> float:
    """Seconds that a process has used since it began."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
