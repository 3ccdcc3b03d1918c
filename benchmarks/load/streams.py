"""Tokens from where they are made to the sockets: delay, CPU, and whether all arrive."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.goals import IS_SMALL, held, sized
from benchmarks.load.child import Child, cpu
from benchmarks.load.figures import row, table
from benchmarks.load.place import Filled, Place, Server, place

SECONDS = sized(6, small=1)
SETTLE = 1.0
"""Seconds for a server to come to rest, and for the last frames to arrive."""
LATE = 0.075


@dataclass(frozen=True)
class Load:
    streams: int
    rate: int
    cores: float | None = None
    """That the site may use; None: as many as it needs."""


FEW, MANY = Load(sized(200, small=10), 50, cores=0.5), Load(sized(1_000, small=20), 30)


def main() -> None:
    table("streams", "tokens/s", "p50", "p99", "frames/s", "arrived", "site, cores", "CPU a token", "generator")
    with place("SQLite") as site, site.server("web") as server:
        measure(site, "one process", {FEW: LATE, MANY: LATE}, server)
    if IS_SMALL:
        return
    with place("PostgreSQL", processes=2) as site, site.server("web") as server, site.server("worker") as worker:
        measure(site, "fed over Redis", {FEW: LATE, MANY: LATE}, server, worker)


def measure(site: Place, name: str, loads: dict[Load, float], server: Server, feeder: Server | None = None) -> None:
    most = max(load.streams for load in loads)
    filled = site.fill(most)
    for load, late in loads.items():
        with site.pages() as pages:
            one(site, name, load, late, filled, server, feeder or server, pages)


def one(
    site: Place, name: str, load: Load, late: float, filled: Filled, server: Server, feeder: Server, pages: Child
) -> None:
    ids = filled.conversations[: load.streams]
    pages.ask(do="open", port=server.port, cookie=filled.cookie, ids=ids)
    time.sleep(SETTLE)
    pages.ask(do="heard")
    processes = {server.process.pid, feeder.process.pid, site.redis_process} - {0}
    before, generator = sum(map(cpu, processes)), pages.cpu
    fed = feeder.ask(streams=ids, rate=load.rate, seconds=SECONDS)
    time.sleep(SETTLE)
    used, generator = sum(map(cpu, processes)) - before, pages.cpu - generator
    heard = pages.ask(do="heard")
    assert heard["tokens"], "nothing has arrived"
    middle, slow = heard["late"]
    cores = used / fed["seconds"]
    row(
        f"{name}: {load.streams:,} x {load.rate}/s",
        f"{fed['tokens'] / fed['seconds']:,.0f}",
        f"{1e3 * middle:.0f} ms",
        held(1e3 * slow, 1e3 * late, "{:.0f} ms", what=f"{name}, p99 of {load.streams:,} streams"),
        f"{heard['frames'] / fed['seconds']:,.0f}",
        f"{100 * heard['tokens'] / fed['tokens']:.1f} %",
        held(cores, load.cores, "{:.2f}", what=f"{name}, cores for {load.streams:,} streams")
        if load.cores
        else f"{cores:.2f}",
        f"{1e6 * used / fed['tokens']:.0f} µs",
        f"{generator / fed['seconds']:.2f}",
    )


if __name__ == "__main__":
    main()
