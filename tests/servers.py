"""Servers that tests talk to, each with data of its own that is gone afterwards.

`python -m tests.servers postgres COMMAND …` runs a command with DATABASE_URL pointing at a PostgreSQL.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from tests.needs import POSTGRESQL, REDIS, found_or_skip

PATIENCE = 30
COMPOSE = Path(__file__).parents[1] / "compose.yaml"
REDIS_PASSWORD = "testsonly0123456789"
LOGS: dict[str, Path] = {}
"""Of the processes that the running test has begun, by name: shown where it fails."""


_PORTS = range(11_000, 32_768)
"""Below those that Linux hands out by itself, to servers of other tests as well."""


def _ports(worker: str, process: int) -> Iterator[int]:
    """Ports of one pytest worker of four (`gw0` to `gw3`), from a place of this process on, again and again."""
    mine = _PORTS[int(worker.removeprefix("gw") or 0) % 4 :: 4]
    return itertools.cycle([*mine[process % len(mine) :], *mine[: process % len(mine)]])


_mine = _ports(os.environ.get("PYTEST_XDIST_WORKER", ""), os.getpid())


def free_port() -> int:
    """A port where nothing listens, for a server that begins later: nobody else takes it meanwhile."""
    for port in _mine:
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable: the ports go round")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(ready: Callable[[], bool], *, what: str, seconds: float = PATIENCE) -> None:
    limit = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < limit, f"{what}: waited {seconds} s in vain"
        time.sleep(0.05)


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL; the test skips where there is none on this machine."""
    binaries = found_or_skip(POSTGRESQL)
    home, port = Path(tempfile.mkdtemp(prefix="chatsite-postgres-")), free_port()
    as_user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = "postgres"
        os.chown(home, pwd.getpwnam(as_user).pw_uid, -1)

    def run(name: str, *arguments: str, check: bool = True) -> None:
        command = [str(binaries / name), "-D", str(home / "data"), *arguments]
        subprocess.run(command, check=check, stdout=subprocess.DEVNULL, cwd=home, user=as_user)

    options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": home, "fsync": "off", "max_connections": 300}
    given = " ".join([f"-p {port}", *(f"-c {name}={value}" for name, value in options.items())])
    try:
        run("initdb", "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "-w", "-l", str(home / "log"), "-o", given, "start")
        yield f"postgres://tests@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-m", "immediate", "stop", check=False)
        shutil.rmtree(home, ignore_errors=True)


class Redis:
    """A Redis as `compose.yaml` starts it, with a password; it can be restarted, and keeps nothing."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{self.port}"
        self.folder = Path(tempfile.mkdtemp(prefix="chatsite-redis-"))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        said = yaml.safe_load(COMPOSE.read_text())["services"]["redis"]["command"]
        found_or_skip(REDIS)
        command = [part.replace("$$", "$") for part in said] + ["--port", str(self.port), "--bind", "127.0.0.1"]
        environment = os.environ | {"REDISCLI_AUTH": REDIS_PASSWORD}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.folder, env=environment)
        wait_until(lambda: listens(self.port), what="Redis")

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None


@contextmanager
def redis() -> Iterator[Redis]:
    """A Redis; the test skips where there is none on this machine."""
    found_or_skip(REDIS)
    server = Redis()
    try:
        server.start()
        yield server
    finally:
        server.stop(signal.SIGKILL)
        shutil.rmtree(server.folder, ignore_errors=True)


def main() -> int:
    if sys.argv[1] != "postgres" or len(sys.argv) < 3:
        sys.exit(__doc__)
    if POSTGRESQL.find() is None:
        print(POSTGRESQL.reason, file=sys.stderr)
        return 0
    with postgres() as url:
        return subprocess.run(sys.argv[2:], env=os.environ | {"DATABASE_URL": url}).returncode


if __name__ == "__main__":
    sys.exit(main())
