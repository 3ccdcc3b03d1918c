"""The site under torture, one process or many, with the same handles: kill, start again, pause, wake, read the logs."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from tests.cluster import Cluster
from tests.journeys.site import ROOT, Site
from tests.servers import Redis, listens, postgres, redis, wait_until
from tests.torture.warm import end_all, warm

LEASE_SECONDS = 2
WARM_UP = 2.0
"""Seconds that a process that listens nowhere takes to begin, about."""
SETTINGS = {
    "LEASE_SECONDS": str(LEASE_SECONDS),
    "COMPRESSION_COOLDOWN_SECONDS": "0",
    "MAX_TURNS_PER_USER": "1000",
    "MAX_COMPACTIONS_PER_USER": "1000",
}
WINDOW = 4_000


class Fleet(Protocol):
    environment: dict[str, str]
    redis: Redis | None
    victims: list[str]
    """Processes that may be killed and paused."""
    workers: list[str]
    """Those of them that do the work."""

    @property
    def doors(self) -> list[str]: ...
    def kill(self, name: str) -> None: ...
    def start(self, name: str) -> None: ...
    def is_up(self, name: str) -> bool: ...
    def pause(self, name: str) -> None: ...
    def wake(self, name: str) -> None: ...
    def logs(self) -> dict[str, str]: ...


class WarmSite(Site):
    popen = staticmethod(warm)


class WarmCluster(Cluster):
    def start(self, name: str, *, wait: bool = True) -> None:
        log = self._logs[name] = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = warm(self._command(name), cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        if wait and name in self.ports:
            self.wait_for(name)


class Alone:
    """`manage.py serve` on SQLite."""

    redis = None
    victims = workers = ["serve"]

    def __init__(self, site: Site) -> None:
        self.site, self.environment = site, site.environment

    @property
    def doors(self) -> list[str]:
        return [self.site.url]

    def kill(self, name: str) -> None:
        self.site.crash()

    def start(self, name: str) -> None:
        self.site.start(wait=False)

    def is_up(self, name: str) -> bool:
        return listens(self.site.port)

    def pause(self, name: str) -> None:
        self.site.process.send_signal(signal.SIGSTOP)

    def wake(self, name: str) -> None:
        self.site.process.send_signal(signal.SIGCONT)

    def logs(self) -> dict[str, str]:
        return {"serve": (self.site.data / "serve.log").read_text()}


class Many:
    """Web processes, workers and a clock on PostgreSQL and Redis. The clock is never killed: it has nothing to lose."""

    def __init__(self, cluster: Cluster, redis: Redis) -> None:
        self.cluster, self.environment, self.redis = cluster, cluster.environment, redis
        self.workers = cluster.workers
        self.victims = [*cluster.ports, *cluster.workers]
        self._born = dict.fromkeys(self.victims, time.monotonic())

    @property
    def doors(self) -> list[str]:
        return [self.cluster.url(name) for name in self.cluster.ports]

    def kill(self, name: str) -> None:
        self.cluster.kill(name)

    def start(self, name: str) -> None:
        self.cluster.start(name, wait=False)
        self._born[name] = time.monotonic()

    def is_up(self, name: str) -> bool:
        if name in self.cluster.ports:
            return listens(self.cluster.ports[name])
        return time.monotonic() - self._born[name] > WARM_UP

    def pause(self, name: str) -> None:
        self.cluster.pause(name)

    def wake(self, name: str) -> None:
        self.cluster.wake(name)

    def logs(self) -> dict[str, str]:
        return {name: self.cluster.log(name) for name in self.cluster.names}


@contextmanager
def fleet(database: str, folder: Path, *, llm_url: str) -> Iterator[Fleet]:
    """A site on `sqlite` or `postgres`; skips where this machine has no such server."""
    with ExitStack() as held:
        held.callback(end_all)
        if database == "sqlite":
            yield Alone(held.enter_context(WarmSite(folder, llm_url=llm_url, window=WINDOW, **SETTINGS)))
            return
        url, broker = held.enter_context(postgres()), held.enter_context(redis())
        cluster = WarmCluster(
            folder, database_url=url, redis_url=broker.url, llm_url=llm_url, webs=2, workers=3, window=WINDOW,
            **SETTINGS,
        )  # fmt: skip
        site = Many(held.enter_context(cluster), broker)
        all_up(site)
        yield site


def all_up(site: Fleet) -> None:
    wait_until(lambda: all(site.is_up(name) for name in site.victims), what="the site", seconds=60)
