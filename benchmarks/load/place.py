"""A site to bear a load: a database in a folder of its own, what is stored in it, and the servers of it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import run

from benchmarks.goals import note, sized
from benchmarks.load.child import Child
from tests.needs import POSTGRESQL, require
from tests.servers import free_port, listens, postgres, redis, wait_until

DATABASES = sized(("SQLite", "PostgreSQL"), small=("SQLite",))
OWN = ("OPENAI_", "ANTHROPIC_", "COMPRESSION_", "DATABASE_", "REDIS_", "CELERY_", "DATA_DIR")


@dataclass(frozen=True)
class Filled:
    """Of one signed-in person."""

    cookie: str
    conversations: list[str]


class Server(Child):
    """A `web` process on a port of its own, or a `worker` without one; its hub can be fed."""

    def __init__(self, kind: str, environment: dict[str, str], folder: Path) -> None:
        self.port = free_port()
        super().__init__(
            "benchmarks.load.server", kind, str(self.port), environment=environment, log=folder / f"{kind}.log"
        )
        self.has_pages = kind != "worker"

    def ready(self) -> None:
        if self.has_pages:
            wait_until(lambda: listens(self.port), what="the server")
        else:
            self.answer()


@dataclass(frozen=True)
class Place:
    folder: Path
    environment: dict[str, str]
    redis_process: int = 0

    def fill(self, conversations: int, *, messages: int = 0) -> Filled:
        cookie, *ids = self.run("benchmarks.load.rows", str(conversations), str(messages)).split()
        return Filled(cookie, ids)

    def run(self, module: str, *arguments: str, misses_allowed: bool = False) -> str:
        """What a process that ends by itself prints; the goals that it missed are noted where that is allowed."""
        command = [sys.executable, "-m", module, *arguments]
        done = run(command, env=self.environment, capture_output=True, text=True)
        misses = [line.removeprefix("Missed: ") for line in done.stderr.splitlines() if line.startswith("Missed: ")]
        if done.returncode and not (misses and misses_allowed):
            sys.exit(f"{module} ended with status {done.returncode}:\n{done.stderr}")
        for miss in misses:
            note(False, miss)
        return done.stdout

    @contextmanager
    def server(self, kind: str) -> Iterator[Server]:
        with Server(kind, self.environment, self.folder) as server:
            server.ready()
            yield server

    @contextmanager
    def pages(self) -> Iterator[Child]:
        """The other side: a process of sockets and requests."""
        log = self.folder / "pages.log"
        with Child("benchmarks.load.pages", environment=self.environment, log=log) as pages:
            yield pages


@contextmanager
def place(database: str, *, processes: int = 1) -> Iterator[Place]:
    """An empty, migrated site; with a Redis where it has several `processes`."""
    require([*(["postgresql"] if database == "PostgreSQL" else []), *(["redis"] if processes > 1 else [])])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsite-load-")))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
        environment |= {
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            "DATA_DIR": str(folder),
            "SECRET_KEY": "a key for measuring only, long enough to be one",
            # One person has all pages of the load.
            **dict.fromkeys(("MAX_TURNS_PER_USER", "MAX_SOCKETS_PER_USER"), "100000"),
        }
        if database == "PostgreSQL":
            environment["DATABASE_URL"] = durable(stack.enter_context(postgres()))
        server = stack.enter_context(redis()) if processes > 1 else None
        if server and server.process:
            environment["REDIS_URL"] = server.url
        made = Place(folder, environment, server.process.pid if server and server.process else 0)
        made.run("django", "migrate", "--verbosity=0")
        yield made


def durable(url: str) -> str:
    """A test's PostgreSQL does not wait for the disk: begun again so that it does."""
    import psycopg

    with psycopg.connect(url) as connection:
        data = connection.execute("SHOW data_directory").fetchone()[0]  # type: ignore[index]
    options = Path(data) / "postmaster.opts"
    options.write_text(options.read_text().replace("fsync=off", "fsync=on"))
    binaries = POSTGRESQL.find()
    assert binaries
    user = "postgres" if os.geteuid() == 0 else None
    log = Path(data).parent / "log"
    run([binaries / "pg_ctl", "-w", "-D", data, "-l", log, "restart"], check=True, capture_output=True, user=user)
    with psycopg.connect(url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    return url
