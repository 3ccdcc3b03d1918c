"""The site is killed and begun anew: until every page has its socket again and shows a message it was not told of.

The site is one process, or two that share the pages, as behind a load balancer.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from benchmarks.goals import held, note, sized
from benchmarks.load.figures import row, spread, table
from benchmarks.load.place import DATABASES, place

PAGES, MESSAGES = sized(1_000, small=10), 20
AWAITED = "Stored, and told to nobody."
WITHIN = {1: 20, 2: 10}
"""Seconds from the kill until the last page has come back, by the number of processes."""


def main() -> None:
    table("site killed", "pages back", "listens", "median page", "p99", "last page", "fetches refused",
          "fetch, p50 / p99", "server CPU", "generator CPU")  # fmt: skip
    for database in DATABASES:
        for processes in (1,) if database == "SQLite" else WITHIN:  # one process may serve a SQLite database
            storm(database, processes)


def storm(database: str, processes: int) -> None:
    with place(database, processes=processes) as site, site.pages() as pages:
        filled = site.fill(PAGES, messages=MESSAGES)
        with ExitStack() as stack:
            servers = [stack.enter_context(site.server("web")) for _ in range(processes)]
            ports = [server.port for server in servers]
            pages.ask(do="browse", ports=ports, cookie=filled.cookie, ids=filled.conversations)
            site.run("benchmarks.load.rows", "again", AWAITED)  # nobody is told: the pages have to find out
            generator = pages.cpu
            pages.tell(do="come_back", awaited=AWAITED)
            time.sleep(0.5)
            began = time.monotonic()
            for server in servers:
                server.kill()
            for server in servers:
                server.start()
            for server in servers:
                server.ready()
            listens = time.monotonic() - began
            back = pages.answer()
            used, generator = sum(server.cpu for server in servers), pages.cpu - generator
    took = [moment - began for moment in back["moments"]]
    middle, slow = spread(took)
    row(
        f"{database}, {processes} process{'es' if processes > 1 else ''}",
        f"{len(took):,} of {PAGES:,}" + note(not back["late"], f"{database}: {back['late']} pages have not come back"),
        f"{listens:.1f} s",
        f"{middle:.1f} s",
        f"{slow:.1f} s",
        held(took[-1], WITHIN[processes], "{:.1f} s", what=f"{database}, the last page back") if took else "none",
        f"{back['refused']:,}",
        "{:.2f} / {:.2f} s".format(*back["fetch"]),
        f"{used:.0f} s",
        f"{generator:.0f} s",
    )


if __name__ == "__main__":
    main()
