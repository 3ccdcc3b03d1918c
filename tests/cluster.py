"""A site of many processes, as `compose.yaml` starts it: each can be killed and paused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

import yaml

from tests.journeys.site import ROOT
from tests.servers import LOGS, free_port, listens, wait_until

STOPS_IN = 30


class Cluster:
    """`webs` uvicorn processes, each on a port of its own, and `workers` Celery processes with one clock.

    Without `workers`, web processes do their own work. Processes are named web0, web1, …, worker0, …, beat.
    """

    def __init__(
        self, folder: Path, *, database_url: str, redis_url: str, llm_url: str, webs: int = 2, workers: int = 0,
        window: int = 8_000, **settings: str,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.ports = {f"web{number}": free_port() for number in range(webs)}
        self.workers = [f"worker{number}" for number in range(workers)]
        self.beat = ["beat"] if workers else []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "COMPRESSION_"))},
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            "DATA_DIR": str(folder),
            "SECRET_KEY": "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789",
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            **({"CELERY_BROKER_URL": f"{redis_url}/1"} if workers else {}),
            "WEB_CONCURRENCY": str(webs),
            "OPENAI_BASE_URL": llm_url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "scripted",
            "OPENAI_CONTEXT_WINDOW": str(window),
            "AUTO_TITLES": "off",
            **settings,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: dict[str, IO[bytes]] = {}

    @property
    def names(self) -> list[str]:
        return [*self.ports, *self.workers, *self.beat]

    def url(self, name: str = "web0") -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def manage(self, *arguments: str, **environment: str) -> str:
        """What a management command prints."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment | environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, name: str, *, wait: bool = True) -> None:
        log = self._logs[name] = (self.folder / f"{name}.log").open("ab")
        LOGS[name] = Path(log.name)
        self.processes[name] = subprocess.Popen(
            self._command(name), cwd=ROOT, env=self.environment, stdout=log, stderr=log
        )
        if wait and name in self.ports:
            self.wait_for(name)

    def wait_for(self, name: str) -> None:
        def ready() -> bool:
            assert self.processes[name].poll() is None, self.log(name)
            return listens(self.ports[name])

        wait_until(ready, what=name, seconds=60)

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait(STOPS_IN)
        self._logs.pop(name).close()

    def pause(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)

    def wake(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGCONT)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def __enter__(self) -> Self:
        self.manage("migrate", "--verbosity=0")
        with ExitStack() as undo:
            undo.callback(self._end)
            for name in self.names:
                self.start(name, wait=False)
            for name in self.ports:
                self.wait_for(name)
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        LOGS.clear()

    def _command(self, name: str) -> list[str]:
        """What `compose.yaml` says; an option that is given twice counts as it is given last."""
        if name in self.ports:
            return [*command_of("web"), "--host", "127.0.0.1", "--port", str(self.ports[name]), "--workers", "1",
                    "--log-level", "warning"]  # fmt: skip
        if name in self.beat:
            return command_of("beat")
        return [*command_of("worker"), "--hostname", f"{name}@chatsite"]


def command_of(service: str) -> list[str]:
    """The command of a service of `compose.yaml`, by the programs of this Python."""
    program, *arguments = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"][service]["command"]
    return [str(Path(sys.executable).parent / program), *arguments]
